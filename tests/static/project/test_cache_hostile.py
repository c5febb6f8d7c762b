"""Caches that are damaged, forged, linked elsewhere or came with the checkout: none hides a finding or a file."""

from __future__ import annotations

import os
import pickle
import stat
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.static.project.cached_project import FIXED, KERNEL, PROJECT, found
from triton_doctor.settings import Settings
from triton_doctor.static.project.cache.folder import FOLDER, CacheStore
from triton_doctor.static.project.cache.key import find_key
from triton_doctor.static.project.cache.scan_cache import NO_CACHED_SCAN, NO_SCAN_CACHE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome


def signed(file: Path, content: bytes) -> bytes:
    """What whoever has the key could put in place of `file`."""
    key = find_key()
    assert key is not None
    name = file.name.encode()
    of_name = blake2b(name, key=key, person=b"name", digest_size=16).digest()
    return of_name + blake2b(name + content, key=key, person=b"content", digest_size=16).digest() + content


class RunsProgram:
    def __reduce__(self) -> tuple[object, ...]:
        return (Path("ran").touch, ())


def with_part(content: bytes, number: int, part: object) -> bytes:
    """`content` with something else in place of one of its parts."""
    head = msgspec.msgpack.decode(content)
    head[number] = part
    return msgspec.msgpack.encode(head)


NESTED: object = []
for _ in range(500):
    NESTED = [NESTED]
DAMAGES = [
    pytest.param(lambda data: b"", id="empty"),
    pytest.param(lambda data: data[: len(data) // 2], id="half of it"),
    pytest.param(lambda data: data + b"\0", id="more than all of it"),
    pytest.param(lambda data: b"\x91" * 1_000_000, id="nested a million times"),
    pytest.param(lambda data: b"\xdd\xff\xff\xff\xff", id="four billion items"),
    pytest.param(lambda data: b"\x96\xdf\xff\xff\xff\xff", id="four billion files"),
    pytest.param(lambda data: msgspec.msgpack.encode({"not": "ours"}), id="something else"),
    pytest.param(lambda data: pickle.dumps(RunsProgram()), id="what would run a program as a pickle"),
    pytest.param(lambda data: with_part(data, 0, {"kernels.py": 1}), id="a number for a digest"),
    pytest.param(lambda data: with_part(data, 1, {"other.py": [1] * 4}), id="the status of a file without a digest"),
    pytest.param(lambda data: with_part(data, 1, {"kernels.py": [2**64 - 1] * 5}), id="a status of five numbers"),
    pytest.param(lambda data: with_part(data, 1, {"kernels.py": [1e999] * 4}), id="a status of no numbers"),
    pytest.param(lambda data: with_part(data, 4, {"kernels.py": [[]]}), id="a result without fields"),
    pytest.param(lambda data: with_part(data, 4, NESTED), id="deep results"),
    pytest.param(lambda data: with_part(data, 4, None), id="no results"),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_cache_is_as_none_even_with_the_right_signature(
    folder: Path, write: Callable[[str, str], Path], damage: Callable[[bytes], bytes]
) -> None:
    for path, content in PROJECT.items():
        write(path, content)
    cache = CacheStore(folder, ["."], Settings(root=folder))
    before = found(folder, cache)
    (file,) = (folder / FOLDER).glob("*.scan")
    file.write_bytes(signed(file, damage(file.read_bytes()[32:])))

    assert cache.read() is NO_CACHED_SCAN
    assert found(folder, cache) == before
    assert cache.read() is not NO_CACHED_SCAN
    assert not Path("ran").exists()


@pytest.mark.parametrize("part", [b"", b"\x96", msgspec.msgpack.encode([{}, {}, {}, {}, {"a.py": [[]]}, {}])])
def test_damaged_details_are_as_none(folder: Path, write: Callable[[str, str], Path], part: bytes) -> None:
    for path, content in PROJECT.items():
        write(path, content)
    cache = CacheStore(folder, ["."], Settings(root=folder))
    found(folder, cache)
    (file,) = (folder / FOLDER).glob("*.scan")
    file.write_bytes(signed(file, with_part(file.read_bytes()[32:], 5, part)))
    write("sizes.py", FIXED)

    assert cache.read().load_rest() is NO_SCAN_CACHE
    assert found(folder, cache) == found(folder, None)


@pytest.mark.parametrize(
    "forge",
    [
        pytest.param(lambda data: data[32:], id="without a signature"),
        pytest.param(lambda data: blake2b(data[32:], digest_size=32).digest() + data[32:], id="signed without a key"),
        pytest.param(lambda data: data[:-1] + bytes([data[-1] ^ 1]), id="one bit"),
        pytest.param(lambda data: data[:20], id="cut in the signature"),
        pytest.param(
            lambda data: signed(Path(f"{0:032x}.scan"), with_part(data[32:], 4, {})), id="signed by another name"
        ),
    ],
)
def test_forged_cache_hides_no_finding(
    folder: Path, write: Callable[[str, str], Path], forge: Callable[[bytes], bytes]
) -> None:
    for path, content in PROJECT.items():
        write(path, content)
    cache = CacheStore(folder, ["."], Settings(root=folder))
    before = found(folder, cache)
    assert before
    (file,) = (folder / FOLDER).glob("*.scan")
    file.write_bytes(forge(file.read_bytes()))

    assert cache.read() is NO_CACHED_SCAN
    assert found(folder, cache) == before


def test_cache_that_came_with_the_checkout_is_not_read(
    folder: Path, write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, content in PROJECT.items():
        write(path, content)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "of another user"))
    found(folder, CacheStore(folder, ["."], Settings(root=folder)))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "of this user"))

    assert CacheStore(folder, ["."], Settings(root=folder)).read() is NO_CACHED_SCAN


def test_numbers_of_more_than_64_bits_and_names_that_are_no_text_are_only_not_kept(
    folder: Path, write: Callable[[str, str], Path]
) -> None:
    write(os.fsdecode(b"kern\xffels.py"), KERNEL)
    write("launch.py", f"import triton\n\nassert n <= {2**70}\n")
    cache = CacheStore(folder, ["."], Settings(root=folder))

    assert found(folder, cache) == found(folder, None)
    assert found(folder, cache) == found(folder, None)


def linked(path: Path, to: Path) -> None:
    path.rename(to)
    path.symlink_to(to)


def test_folder_that_is_a_link_is_neither_read_nor_written(folder: Path, write: Callable[[str, str], Path]) -> None:
    write("kernels.py", KERNEL)
    for number in range(25):
        write(f"precious/{number:032x}.scan", "mine")
    (folder / FOLDER).symlink_to(folder / "precious")
    cache = CacheStore(folder, ["."], Settings(root=folder))

    assert found(folder, cache) == found(folder, None)
    assert {path.read_text() for path in (folder / "precious").iterdir()} == {"mine"}
    assert len(list((folder / "precious").iterdir())) == 25


def test_folder_that_became_a_link_is_not_read(folder: Path, write: Callable[[str, str], Path]) -> None:
    write("kernels.py", KERNEL)
    cache = CacheStore(folder, ["."], Settings(root=folder))
    found(folder, cache)
    linked(folder / FOLDER, folder / "elsewhere")

    assert cache.read() is NO_CACHED_SCAN


def test_file_that_is_a_link_is_not_read_and_what_it_leads_to_stays(
    folder: Path, write: Callable[[str, str], Path]
) -> None:
    write("kernels.py", KERNEL)
    cache = CacheStore(folder, ["."], Settings(root=folder))
    found(folder, cache)
    (file,) = (folder / FOLDER).glob("*.scan")
    linked(file, folder / "elsewhere")
    before = (folder / "elsewhere").read_bytes()
    file.with_name(f"{file.name}.{os.getpid()}").symlink_to(folder / "elsewhere")
    write("kernels.py", KERNEL + "\n")

    assert cache.read() is NO_CACHED_SCAN
    assert found(folder, cache) == found(folder, None)
    assert (folder / "elsewhere").read_bytes() == before
    assert not file.is_symlink()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_file_that_is_no_file_is_no_obstacle(
    folder: Path, write: Callable[[str, str], Path], make: Callable[[Path], None]
) -> None:
    write("kernels.py", KERNEL)
    cache = CacheStore(folder, ["."], Settings(root=folder))
    found(folder, cache)
    (file,) = (folder / FOLDER).glob("*.scan")
    file.unlink()
    make(file)

    assert cache.read() is NO_CACHED_SCAN
    assert found(folder, cache) == found(folder, None)


def test_large_file_is_not_read(folder: Path, write: Callable[[str, str], Path]) -> None:
    write("kernels.py", KERNEL)
    cache = CacheStore(folder, ["."], Settings(root=folder))
    found(folder, cache)
    (file,) = (folder / FOLDER).glob("*.scan")
    os.truncate(file, 1 << 40)

    assert cache.read() is NO_CACHED_SCAN


def test_files_of_others_are_not_pruned_and_do_not_displace_ours(
    folder: Path, write: Callable[[str, str], Path]
) -> None:
    write("kernels.py", KERNEL)
    for number in range(20):
        file = write(f"{FOLDER}/{number:032x}.scan", "shipped")
        os.utime(file, (2**32, 2**32))
    for number in range(20):
        found(folder, CacheStore(folder, [str(number)], Settings(root=folder)))

    kept = [path for path in (folder / FOLDER).glob("*.scan") if path.read_bytes() != b"shipped"]
    assert len(kept) == 16
    assert len(list((folder / FOLDER).glob("*.scan"))) == 36
    assert CacheStore(folder, ["19"], Settings(root=folder)).read() is not NO_CACHED_SCAN
    assert CacheStore(folder, ["0"], Settings(root=folder)).read() is NO_CACHED_SCAN


def test_key_is_a_secret_of_the_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    key, file = find_key(), folder / "triton-doctor" / "cache-key"

    assert find_key() == key == file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda file: file.chmod(0o644), id="that others can read"),
        pytest.param(lambda file: file.write_bytes(b""), id="that is empty"),
        pytest.param(lambda file: file.write_bytes(b"x" * 1000), id="that is too long"),
    ],
)
def test_new_key_takes_the_place_of_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], object]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    before, file = find_key(), folder / "triton-doctor" / "cache-key"
    damage(file)

    key = find_key()

    assert key not in (before, None)
    assert key == file.read_bytes()


@pytest.mark.parametrize("spoil", [Path.touch, Path.mkdir, lambda path: path.symlink_to("/dev/null")])
def test_nothing_is_kept_where_no_key_can_be(
    folder: Path, write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], None]
) -> None:
    (folder / "home").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "home"))
    spoiled = folder / "home/triton-doctor"
    if spoil is Path.mkdir:
        (spoiled / "cache-key").mkdir(parents=True)
    else:
        spoil(spoiled)
    write("kernels.py", KERNEL)

    assert found(folder, CacheStore(folder, ["."], Settings(root=folder))) == found(folder, None)
    assert not (folder / FOLDER).exists()


def test_key_of_a_ci_job_comes_from_a_variable(
    folder: Path, write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, content in PROJECT.items():
        write(path, content)
    monkeypatch.setenv("DOCTOR_CACHE_KEY", "a secret of the project")
    found(folder, CacheStore(folder, ["."], Settings(root=folder)))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "another home"))

    assert CacheStore(folder, ["."], Settings(root=folder)).read() is not NO_CACHED_SCAN
    monkeypatch.setenv("DOCTOR_CACHE_KEY", "another secret than that")
    assert CacheStore(folder, ["."], Settings(root=folder)).read() is NO_CACHED_SCAN
    monkeypatch.setenv("DOCTOR_CACHE_KEY", "short")
    assert find_key() is None
    assert not (folder / "another home").exists()


def test_clean_removes_what_triton_doctor_wrote_and_says_what_stays(
    doctor: Callable[..., Outcome], folder: Path, write: Callable[[str, str], Path]
) -> None:
    for part in "abcd":
        write(f"{part}/kernels.py", KERNEL)
    write("precious/notes.scan", "mine")
    (folder / "a" / FOLDER).symlink_to(folder / "precious")
    write(f"b/{FOLDER}/notes.txt", "mine")
    write(f"b/{FOLDER}/{1:032x}.scan.77", "half writt")
    write(f"b/{FOLDER}/.gitignore", "*.pyc\n")
    (folder / "c" / FOLDER).mkdir()
    (folder / "c" / FOLDER / f"{1:032x}.scan").symlink_to(folder / "precious/notes.scan")
    write(f"d/{FOLDER}/.gitignore", "*\n")

    scan_result = doctor("clean")

    assert (scan_result.status, scan_result.out) == (2, f"removed d/{FOLDER}\n")
    foreign = "triton-doctor did not write"
    assert sorted(scan_result.err.splitlines()) == [
        f"triton-doctor: a/{FOLDER} is left: it is a link",
        f"triton-doctor: b/{FOLDER} is left: {foreign} .gitignore, {foreign} notes.txt",
        f"triton-doctor: c/{FOLDER} is left: {foreign} {1:032x}.scan",
    ]
    assert sorted(path.name for path in (folder / "b" / FOLDER).iterdir()) == [".gitignore", "notes.txt"]
    assert (folder / "precious/notes.scan").read_text() == "mine"

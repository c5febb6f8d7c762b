"""Caches that are damaged, locked, linked elsewhere or cannot be written: none hides a finding or a file."""

from __future__ import annotations

import os
import pickle
import sqlite3
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.static.project.cached_project import FIXED, KERNEL, PROJECT, found
from triton_doctor.settings import Settings
from triton_doctor.static.project.cache.scan_cache import NO_CACHED_SCAN, NO_SCAN_CACHE
from triton_doctor.static.project.cache.store import CacheStore, cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome


def file_of(folder: Path) -> Path:
    """The database of the project `folder`, which is the only one."""
    kept = cache_folder()
    assert kept is not None
    (file,) = kept.glob("*.sqlite")
    return file


def replace_content(folder: Path, change: Callable[[bytes], bytes]) -> None:
    """Put other bytes with a right digest in place of what was kept."""
    with closing(sqlite3.connect(file_of(folder))) as database, database:
        (content,) = database.execute("SELECT content FROM scans").fetchone()
        changed = change(content)
        database.execute(
            "UPDATE scans SET content = ?, digest = ?", (changed, blake2b(changed, digest_size=16).digest())
        )


@pytest.fixture(autouse=True)
def own_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder for this test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    return folder / "cache" / "triton-doctor"


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
def test_damaged_cache_is_as_none_even_with_the_right_digest(
    folder: Path, write: Callable[[str, str], Path], damage: Callable[[bytes], bytes]
) -> None:
    for path, content in PROJECT.items():
        write(path, content)
    cache = CacheStore(folder, ["."], Settings(root=folder))
    before = found(folder, cache)
    replace_content(folder, damage)

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
    replace_content(folder, lambda content: with_part(content, 5, part))
    write("sizes.py", FIXED)

    assert cache.read().load_rest() is NO_SCAN_CACHE
    assert found(folder, cache) == found(folder, None)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: data[: len(data) // 2], id="half of it"),
        pytest.param(lambda data: b"no database" * 1000, id="something else"),
        pytest.param(lambda data: data[:100] + b"\xff" * (len(data) - 100), id="a head without pages"),
        pytest.param(lambda data: data[:-300] + bytes(byte ^ 1 for byte in data[-300:]), id="bits of the end"),
    ],
)
def test_damaged_database_hides_no_finding_and_is_written_again(
    folder: Path, write: Callable[[str, str], Path], damage: Callable[[bytes], bytes]
) -> None:
    for path, content in PROJECT.items():
        write(path, content)
    cache = CacheStore(folder, ["."], Settings(root=folder))
    before = found(folder, cache)
    assert before
    file = file_of(folder)
    file.write_bytes(damage(file.read_bytes()))

    assert cache.read() is NO_CACHED_SCAN
    assert found(folder, cache) == before
    assert cache.read() is not NO_CACHED_SCAN


def test_locked_database_is_as_none(folder: Path, write: Callable[[str, str], Path]) -> None:
    for path, content in PROJECT.items():
        write(path, content)
    cache = CacheStore(folder, ["."], Settings(root=folder))
    before = found(folder, cache)
    with closing(sqlite3.connect(file_of(folder), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")

        assert cache.read() is NO_CACHED_SCAN
        assert found(folder, cache) == before
    assert cache.read() is not NO_CACHED_SCAN


def test_numbers_of_more_than_64_bits_and_names_that_are_no_text_are_only_not_kept(
    folder: Path, write: Callable[[str, str], Path]
) -> None:
    write(os.fsdecode(b"kern\xffels.py"), KERNEL)
    write("launch.py", f"import triton\n\nassert n <= {2**70}\n")
    cache = CacheStore(folder, ["."], Settings(root=folder))

    assert found(folder, cache) == found(folder, None)
    assert found(folder, cache) == found(folder, None)


def test_database_that_is_a_link_is_not_read_and_what_it_leads_to_stays(
    folder: Path, write: Callable[[str, str], Path]
) -> None:
    write("kernels.py", KERNEL)
    cache = CacheStore(folder, ["."], Settings(root=folder))
    found(folder, cache)
    file, elsewhere = file_of(folder), folder / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    write("kernels.py", KERNEL + "\n")

    assert cache.read() is NO_CACHED_SCAN
    assert found(folder, cache) == found(folder, None)
    assert elsewhere.read_bytes() == before


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_file_that_is_no_file_is_no_obstacle(
    folder: Path, write: Callable[[str, str], Path], make: Callable[[Path], None]
) -> None:
    write("kernels.py", KERNEL)
    cache = CacheStore(folder, ["."], Settings(root=folder))
    found(folder, cache)
    file = file_of(folder)
    file.unlink()
    make(file)

    assert cache.read() is NO_CACHED_SCAN
    assert found(folder, cache) == found(folder, None)


def test_latest_rows_of_a_project_stay(folder: Path, write: Callable[[str, str], Path]) -> None:
    write("kernels.py", KERNEL)
    for number in range(20):
        found(folder, CacheStore(folder, [str(number)], Settings(root=folder)))

    kept = [CacheStore(folder, [str(number)], Settings(root=folder)).read() for number in range(20)]
    assert [number for number, scan in enumerate(kept) if scan is not NO_CACHED_SCAN] == [*range(4, 20)]


def test_oldest_projects_make_room(folder: Path, own_cache: Path, write: Callable[[str, str], Path]) -> None:
    write("kernels.py", KERNEL)
    own_cache.mkdir(parents=True)
    for number in range(70):
        file = own_cache / f"{number:032x}.scans.sqlite"
        file.touch()
        os.utime(file, (number, number))
    (own_cache / "notes.sqlite").write_text("mine")

    found(folder, CacheStore(folder, ["."], Settings(root=folder)))

    assert len(list(own_cache.glob("*.scans.sqlite"))) == 64
    assert not (own_cache / f"{6:032x}.scans.sqlite").exists()
    assert (own_cache / f"{7:032x}.scans.sqlite").exists()
    assert (own_cache / "notes.sqlite").exists()


@pytest.mark.parametrize("spoil", [Path.touch, lambda path: path.symlink_to("/dev/null")])
def test_cache_folder_that_cannot_be_made_is_no_obstacle(
    folder: Path, own_cache: Path, write: Callable[[str, str], Path], spoil: Callable[[Path], None]
) -> None:
    own_cache.parent.mkdir()
    spoil(own_cache)
    write("kernels.py", KERNEL)

    assert found(folder, CacheStore(folder, ["."], Settings(root=folder))) == found(folder, None)


def test_relative_cache_folder_is_not_used(
    folder: Path, write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(folder / "home"))
    write("kernels.py", KERNEL)
    found(folder, CacheStore(folder, ["."], Settings(root=folder)))

    assert not (folder / "relative").exists()
    assert len(list((folder / "home/.cache/triton-doctor").iterdir())) == 1


def test_clean_removes_the_databases_and_nothing_else(
    doctor: Callable[..., Outcome], own_cache: Path, write: Callable[[str, str], Path]
) -> None:
    write("kernels.py", KERNEL)
    doctor("check")
    (own_cache / "notes.txt").write_text("mine")

    assert doctor("check", "--clean").out == "removed the cache of 1 project\n"
    assert doctor("check", "--clean").out == "nothing to remove\n"
    assert [file.name for file in own_cache.iterdir()] == ["notes.txt"]

"""The cache of `check`: whatever happens to the files or to the cache, the findings are those of a scan without it."""

from __future__ import annotations

import os
import pickle
import resource
import subprocess
import sys
import time
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from triton_doctor.settings import Settings
from triton_doctor.static import texts
from triton_doctor.static.cache import FOLDER, Cache
from triton_doctor.static.cache_key import find_key
from triton_doctor.static.files import find_files
from triton_doctor.static.library import Library
from triton_doctor.static.memory import NO_MEMORY, NOTHING_KEPT
from triton_doctor.static.scan import scan
from triton_doctor.static.shares import all_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.conftest import Outcome
    from triton_doctor.finding import Finding

ROOT = Path(__file__).parent.parent.parent
KERNEL = """\
import triton
import triton.language as tl

@triton.jit
def kernel(x, N: tl.constexpr):
    tl.store(x, N)
"""
LAUNCH = """\
from kernels import kernel
from sizes import size

def launch(x, rows):
    kernel[(1,)](x, size(rows))
"""
VARYING = "def size(rows):\n    return rows.item()\n"
FIXED = "def size(rows):\n    return 16\n"
CALLER = "# triton\nfrom launch import launch\n\ndef step(x, requests):\n    launch(x, {})\n"
USER = "# triton\nfrom hub import launch\n\ndef use(x, requests):\n    launch(x, requests.numel())\n"
LOCAL = """\
# triton
from hub import launch

def use(x, requests):
    def launch(x, n):
        pass

    launch(x, requests.numel())
"""
# What each file of the project may be in turn; None is a file that is not there.
STATES: dict[str, Sequence[str | None]] = {
    "kernels.py": (KERNEL, KERNEL.replace("x, N:", "x, y, N:"), "def kernel(:  # triton jit", None),
    "launch.py": (LAUNCH, LAUNCH.replace("from sizes import size", "size = max"), LAUNCH.replace("size(rows)", "rows")),
    "sizes.py": (VARYING, FIXED, None, "from other import size\n"),
    "other.py": (VARYING, None, FIXED),
    "caller.py": (CALLER.format("len(requests)"), None, CALLER.format("16"), CALLER.replace("# triton", "")),
    "hub.py": ("from launch import launch\n", "from launch import *\n", "def launch(x, rows):\n    pass\n", None),
    "user.py": (USER, USER.replace("hub", "launch"), USER.replace("from hub import launch", "launch = max"), LOCAL),
    "keeper.py": ("# triton\nimport kernels\n", "# triton\nimport kernels\n\nTABLE = [kernels.kernel]\n", None),
    "env.py": ("import os\nos.environ['TRITON_INTERPRET'] = '1'\n", None),
    "Dockerfile": ("ENV TRITON_INTERPRET=1\n", None),
    "quiet.py": ("import triton  # triton-doctor: ignore-file[TRD201]\n", None),
}


def found(folder: Path, cache: Cache | None) -> tuple[Finding, ...]:
    chosen = Settings(root=folder)
    return scan(list(find_files([folder], chosen, cwd=folder)), chosen, cwd=folder, cache=cache).findings


opened: list[str] = []


def note(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open":
        opened.append(str(arguments[0]))


def put(path: Path, text: str | None) -> None:
    path.unlink(missing_ok=True)
    if text is not None:
        path.write_text(text)


@pytest.fixture
def short_of_breath(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are trusted a moment after they were written, as they are after two seconds."""
    monkeypatch.setattr(texts, "_MARGIN_NS", 20_000_000)


def breathe() -> None:
    time.sleep(0.03)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(sorted(STATES)), st.integers(0, 3), st.booleans()), max_size=12))
@pytest.mark.usefixtures("short_of_breath")
def test_findings_are_those_without_a_cache_whatever_changes(folder: Path, edits: list[tuple[str, int, bool]]) -> None:
    """Also where the time of a file is set back to what it was."""
    for name, states in STATES.items():
        put(folder / name, states[0])
    breathe()
    cache = Cache(folder, ["."], Settings(root=folder))
    assert {finding.code for finding in found(folder, cache)} == {"TRD101", "TRD102", "TRD201", "TRD901"}

    for name, state, set_back in edits:
        file = folder / name
        before = file.stat() if file.exists() else None
        put(file, STATES[name][state % len(STATES[name])])
        if set_back and before is not None and file.exists():
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert found(folder, cache) == found(folder, None)


CALLS_LATER = "# triton\nimport launch\n\ndef step(x, requests):\n    {}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            {"launch.py": LAUNCH.replace("size(rows)", "rows"), "caller.py": CALLS_LATER.format("pass")},
            {"caller.py": CALLS_LATER.format("launch.launch(x, len(requests))")},
            id="a call, in a file that imported the module before",
        ),
        pytest.param(
            {"p/__init__.py": "", "p/kernels.py": KERNEL.replace("tl.store(x, N)", "pass")},
            {"p/__init__.py": None},
            id="a package that is none any more",
        ),
        pytest.param(
            {"kernels.py": "def kernel(:", "launch.py": "# triton\n" + LAUNCH},
            {"notes.py": "import triton\n"},
            id="a file that does not parse, and that no finding is about",
        ),
    ],
)
def test_findings_are_those_without_a_cache_after(
    folder: Path, write: Callable[[str, str], Path], before: dict[str, str], after: dict[str, str | None]
) -> None:
    for path, content in (("kernels.py", KERNEL), ("launch.py", LAUNCH), ("sizes.py", VARYING)):
        write(path, before.get(path, content))
    for path, content in before.items():
        write(path, content)
    cache = Cache(folder, ["."], Settings(root=folder))
    assert found(folder, cache) == found(folder, None)

    for path, changed in after.items():
        put(folder / path, changed)

    assert found(folder, cache) == found(folder, None)


@pytest.mark.usefixtures("short_of_breath")
def test_files_that_are_as_they_were_are_not_read(folder: Path, write: Callable[[str, str], Path]) -> None:
    for path, content in (("kernels.py", KERNEL), ("launch.py", LAUNCH), ("sizes.py", VARYING)):
        write(path, content)
    breathe()
    cache = Cache(folder, ["."], Settings(root=folder))
    before = found(folder, cache)
    sys.addaudithook(note)
    opened.clear()

    assert found(folder, cache) == before
    assert opened
    assert not [path for path in opened if path.endswith(".py")]


@pytest.mark.parametrize(
    ("name", "text", "anew"),
    [
        pytest.param("notes.py", None, set(), id="nothing"),
        pytest.param("sizes.py", FIXED, set(), id="a helper of the value, which no launch is linked by"),
        pytest.param("kernels.py", KERNEL + "\n", {"kernels.py", "launch.py"}, id="the kernel"),
        pytest.param("other.py", "import triton\nf[grid](x)\n", {"other.py"}, id="a file that is not asked by others"),
    ],
)
def test_only_what_rests_on_a_change_is_worked_out_again(
    folder: Path, write: Callable[[str, str], Path], name: str, text: str | None, anew: set[str]
) -> None:
    for path, content in (("kernels.py", KERNEL), ("launch.py", LAUNCH), ("sizes.py", VARYING)):
        write(path, content)
    cache = Cache(folder, ["."], Settings(root=folder))
    found(folder, cache)
    put(folder / name, text)
    library = Library(list(find_files([folder], Settings(root=folder), cwd=folder)))
    memory = cache.read().recall()

    shares = all_shares(library, memory.outcome.shares, memory.changes(library))

    assert shares.anew == anew


HUB = "from launch import launch\n"
NAMESAKE = "# triton\nimport hub\nfrom elsewhere import launch\n\ndef use(x, requests):\n    launch(x, len(requests))\n"


@pytest.mark.parametrize(
    ("name", "text", "stands"),
    [
        pytest.param("hub.py", HUB + "\ndef other():\n    pass\n", True, id="more in a file that hands the name on"),
        pytest.param("hub.py", HUB.replace("launch import", "other import"), False, id="another is handed on"),
        pytest.param("namesake.py", "# a comment\n" + NAMESAKE, True, id="lines move in a file with a namesake"),
        pytest.param("namesake.py", NAMESAKE.replace("elsewhere", "hub"), False, id="the namesake is the function"),
        pytest.param(
            "namesake.py", NAMESAKE.replace("    launch(", "    hub.launch("), False, id="it is called besides"
        ),
        pytest.param("user.py", "\n" + USER, False, id="lines move in a caller"),
        pytest.param("test_launch.py", USER + "\n", True, id="a test"),
    ],
)
def test_answer_stands_while_what_was_asked_is_answered_the_same(
    folder: Path, write: Callable[[str, str], Path], name: str, text: str, stands: bool
) -> None:
    launch = LAUNCH.replace("size(rows)", "rows")
    files = {"kernels.py": KERNEL, "launch.py": launch, "hub.py": HUB, "user.py": USER, "namesake.py": NAMESAKE}
    for path, content in (files | {"test_launch.py": USER}).items():
        write(path, content)
    cache = Cache(folder, ["."], Settings(root=folder))
    found(folder, cache)
    put(folder / name, text)
    library = Library(list(find_files([folder], Settings(root=folder), cwd=folder)))
    memory = cache.read().recall()

    rests = memory.outcome.answers["kernels.py"].rests

    assert rests.stands(memory.changes(library, {"test_launch.py"})) == stands


def signed(file: Path, content: bytes) -> bytes:
    """What whoever has the key could put in place of `file`."""
    key = find_key()
    assert key is not None
    return blake2b(file.name.encode() + content, key=key, digest_size=32).digest() + content


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
    for path, content in (("kernels.py", KERNEL), ("launch.py", LAUNCH), ("sizes.py", VARYING)):
        write(path, content)
    cache = Cache(folder, ["."], Settings(root=folder))
    before = found(folder, cache)
    (file,) = (folder / FOLDER).glob("*.scan")
    file.write_bytes(signed(file, damage(file.read_bytes()[32:])))

    assert cache.read() is NOTHING_KEPT
    assert found(folder, cache) == before
    assert cache.read() is not NOTHING_KEPT
    assert not Path("ran").exists()


@pytest.mark.parametrize("part", [b"", b"\x96", msgspec.msgpack.encode([{}, {}, {}, {}, {"a.py": [[]]}, {}])])
def test_damaged_details_are_as_none(folder: Path, write: Callable[[str, str], Path], part: bytes) -> None:
    for path, content in (("kernels.py", KERNEL), ("launch.py", LAUNCH), ("sizes.py", VARYING)):
        write(path, content)
    cache = Cache(folder, ["."], Settings(root=folder))
    found(folder, cache)
    (file,) = (folder / FOLDER).glob("*.scan")
    file.write_bytes(signed(file, with_part(file.read_bytes()[32:], 5, part)))
    write("sizes.py", FIXED)

    assert cache.read().recall() is NO_MEMORY
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
    for path, content in (("kernels.py", KERNEL), ("launch.py", LAUNCH), ("sizes.py", VARYING)):
        write(path, content)
    cache = Cache(folder, ["."], Settings(root=folder))
    before = found(folder, cache)
    assert before
    (file,) = (folder / FOLDER).glob("*.scan")
    file.write_bytes(forge(file.read_bytes()))

    assert cache.read() is NOTHING_KEPT
    assert found(folder, cache) == before


def test_cache_that_came_with_the_checkout_is_not_read(
    folder: Path, write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, content in (("kernels.py", KERNEL), ("launch.py", LAUNCH), ("sizes.py", VARYING)):
        write(path, content)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "of another user"))
    found(folder, Cache(folder, ["."], Settings(root=folder)))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "of this user"))

    assert Cache(folder, ["."], Settings(root=folder)).read() is NOTHING_KEPT


def test_numbers_of_more_than_64_bits_and_names_that_are_no_text_are_only_not_kept(
    folder: Path, write: Callable[[str, str], Path]
) -> None:
    write(os.fsdecode(b"kern\xffels.py"), KERNEL)
    write("launch.py", f"import triton\n\nassert n <= {2**70}\n")
    cache = Cache(folder, ["."], Settings(root=folder))

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
    cache = Cache(folder, ["."], Settings(root=folder))

    assert found(folder, cache) == found(folder, None)
    assert {path.read_text() for path in (folder / "precious").iterdir()} == {"mine"}
    assert len(list((folder / "precious").iterdir())) == 25


def test_folder_that_became_a_link_is_not_read(folder: Path, write: Callable[[str, str], Path]) -> None:
    write("kernels.py", KERNEL)
    cache = Cache(folder, ["."], Settings(root=folder))
    found(folder, cache)
    linked(folder / FOLDER, folder / "elsewhere")

    assert cache.read() is NOTHING_KEPT


def test_file_that_is_a_link_is_not_read_and_what_it_leads_to_stays(
    folder: Path, write: Callable[[str, str], Path]
) -> None:
    write("kernels.py", KERNEL)
    cache = Cache(folder, ["."], Settings(root=folder))
    found(folder, cache)
    (file,) = (folder / FOLDER).glob("*.scan")
    linked(file, folder / "elsewhere")
    before = (folder / "elsewhere").read_bytes()
    file.with_name(f"{file.name}.{os.getpid()}").symlink_to(folder / "elsewhere")
    write("kernels.py", KERNEL + "\n")

    assert cache.read() is NOTHING_KEPT
    assert found(folder, cache) == found(folder, None)
    assert (folder / "elsewhere").read_bytes() == before
    assert not file.is_symlink()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_file_that_is_no_file_is_no_obstacle(
    folder: Path, write: Callable[[str, str], Path], make: Callable[[Path], None]
) -> None:
    write("kernels.py", KERNEL)
    cache = Cache(folder, ["."], Settings(root=folder))
    found(folder, cache)
    (file,) = (folder / FOLDER).glob("*.scan")
    file.unlink()
    make(file)

    assert cache.read() is NOTHING_KEPT
    assert found(folder, cache) == found(folder, None)


def test_large_file_is_not_read(folder: Path, write: Callable[[str, str], Path]) -> None:
    write("kernels.py", KERNEL)
    cache = Cache(folder, ["."], Settings(root=folder))
    found(folder, cache)
    (file,) = (folder / FOLDER).glob("*.scan")
    os.truncate(file, 1 << 40)

    assert cache.read() is NOTHING_KEPT


def test_files_of_others_are_not_pruned_and_do_not_displace_ours(
    folder: Path, write: Callable[[str, str], Path]
) -> None:
    write("kernels.py", KERNEL)
    for number in range(20):
        file = write(f"{FOLDER}/{number:032x}.scan", "shipped")
        os.utime(file, (2**32, 2**32))
    for number in range(20):
        found(folder, Cache(folder, [str(number)], Settings(root=folder)))

    kept = [path for path in (folder / FOLDER).glob("*.scan") if path.read_bytes() != b"shipped"]
    assert len(kept) == 16
    assert len(list((folder / FOLDER).glob("*.scan"))) == 36
    assert Cache(folder, ["19"], Settings(root=folder)).read() is not NOTHING_KEPT
    assert Cache(folder, ["0"], Settings(root=folder)).read() is NOTHING_KEPT


def test_full_disk_leaves_what_was_there(folder: Path, write: Callable[[str, str], Path]) -> None:
    write("kernels.py", KERNEL)
    cache = Cache(folder, ["."], Settings(root=folder))
    found(folder, cache)
    (file,) = (folder / FOLDER).glob("*.scan")
    before = file.read_bytes()
    write("kernels.py", KERNEL + "\n")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with_cache = found(folder, cache)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert with_cache == found(folder, None)
    assert file.read_bytes() == before
    assert {path.name for path in (folder / FOLDER).iterdir()} == {file.name, ".gitignore", "CACHEDIR.TAG"}


def test_place_that_cannot_be_written_is_no_obstacle(
    doctor: Callable[..., Outcome], write: Callable[[str, str], Path]
) -> None:
    write("kernels.py", KERNEL)
    write(FOLDER, "a file where the folder would be")

    assert doctor("check") == doctor("check", "--no-cache")


def test_folder_ignores_itself_in_git(
    doctor: Callable[..., Outcome], folder: Path, write: Callable[[str, str], Path]
) -> None:
    write("kernels.py", KERNEL)
    subprocess.run(["git", "init", "-q", folder], check=True)

    doctor("check")

    said = subprocess.run(["git", "status", "--porcelain"], cwd=folder, capture_output=True, text=True, check=True)
    assert said.stdout == "?? kernels.py\n"


def test_runs_at_once_say_the_same(folder: Path, write: Callable[[str, str], Path]) -> None:
    for number in range(8):
        write(f"kernel{number}s.py", KERNEL.replace("kernel", f"kernel{number}"))
        write(f"launch{number}.py", LAUNCH.replace("kernel", f"kernel{number}"))
    write("sizes.py", VARYING)
    command = [sys.executable, "-m", "triton_doctor", "check", "--output-format", "concise", "--exit-zero"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    running = [
        subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    said = {process.communicate()[0] for process in running}

    assert {process.returncode for process in running} == {0}
    assert len(said) == 1
    assert said.pop().count("TRD201") == 8


def test_ways_of_asking_do_not_disturb_each_other(
    doctor: Callable[..., Outcome], folder: Path, write: Callable[[str, str], Path]
) -> None:
    for path, content in (("kernels.py", KERNEL), ("launch.py", LAUNCH), ("sizes.py", VARYING)):
        write(path, content)
    everything, one_rule = doctor("check"), doctor("check", "--select", "TRD1")

    assert everything != one_rule
    assert doctor("check") == everything
    assert doctor("check", "--select", "TRD1") == one_rule
    assert len(list((folder / FOLDER).glob("*.scan"))) == 2


def test_clean_removes_what_check_keeps(
    doctor: Callable[..., Outcome], folder: Path, write: Callable[[str, str], Path]
) -> None:
    write("kernels.py", KERNEL)
    doctor("check")

    assert doctor("clean").out == f"removed {FOLDER}\n"
    assert doctor("clean").out == "nothing to remove\n"
    assert [path.name for path in folder.iterdir()] == ["kernels.py"]


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

    outcome = doctor("clean")

    assert (outcome.status, outcome.out) == (2, f"removed d/{FOLDER}\n")
    assert sorted(outcome.err.splitlines()) == [
        f"triton-doctor: a/{FOLDER} is left: it is a link",
        f"triton-doctor: b/{FOLDER} is left: triton-doctor did not write .gitignore or notes.txt",
        f"triton-doctor: c/{FOLDER} is left: triton-doctor did not write {1:032x}.scan",
    ]
    assert sorted(path.name for path in (folder / "b" / FOLDER).iterdir()) == [".gitignore", "notes.txt"]
    assert (folder / "precious/notes.scan").read_text() == "mine"


def test_no_cache_leaves_nothing(
    doctor: Callable[..., Outcome], folder: Path, write: Callable[[str, str], Path]
) -> None:
    write("kernels.py", KERNEL)

    doctor("check", "--no-cache")

    assert [path.name for path in folder.iterdir()] == ["kernels.py"]

"""The cache of `check`: whatever happens to the files or to the cache, the findings are those of a scan without it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.static.project.cached_project import FIXED, KERNEL, LAUNCH, VARYING, found
from triton_doctor.settings import Settings
from triton_doctor.static.project.analysis.summaries import summarize_files
from triton_doctor.static.project.cache.scan_cache import NO_CACHED_SCAN
from triton_doctor.static.project.cache.scan_memory import ScanMemory
from triton_doctor.static.project.cache.store import CacheStore
from triton_doctor.static.project.database import database
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.project.database.kept_modules import KeptModules, ReadModule
from triton_doctor.static.python.parse import read_module
from triton_doctor.static.sources import contents
from triton_doctor.static.sources.files import find_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.conftest import Outcome
    from triton_doctor.static.python.module import Module

ROOT = Path(__file__).parent.parent.parent.parent
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
# Read only where a value or a caller leads there: the whole of it does not parse, or one function that may not be read.
BROKEN = "# triton\nfrom launch import launch\ndef step(:\n"
BROKEN_FUNCTION = "# triton\nfrom hub import launch\n\ndef use(x, requests):\n    launch(x, requests.numel()\n"
# It imports what is looked for, and does not call it: a scan without memory never parses it.
IDLE = "# triton\nfrom launch import launch\nimport kernels\n"
SIZES_AND_BROKEN = "# triton\nfrom hub import launch\nimport kernels\n\n{}\ndef other():\n    (launch, kernels.kernel\n"
BROKEN_OTHER = USER + "\ndef other(x):\n    launch = (x\n"
# A script that tries its own kernel, unless some other file imports it: one that does not name Triton too.
TRIAL = LAUNCH + '\nif __name__ == "__main__":\n    torch.allclose(launch(x, rows), x)\n'
# What each file of the project may be in turn; None is a file that is not there.
STATES: dict[str, Sequence[str | None]] = {
    "kernels.py": (KERNEL, KERNEL.replace("x, N:", "x, y, N:"), "def kernel(:  # triton jit", None),
    "launch.py": (
        LAUNCH.replace("size(rows)", "rows"),
        LAUNCH,
        LAUNCH.replace("from sizes import size", "size = max"),
        TRIAL,
    ),
    "sizes.py": (
        VARYING,
        FIXED,
        None,
        "from other import size\n",
        VARYING.replace("item()", "item("),
        "def other(:",
        "from user import size\n",
    ),
    "other.py": (VARYING, None, FIXED, FIXED + "\ndef more():\n    return (\n"),
    "caller.py": (
        *(CALLER.format("len(requests)"), None, CALLER.format("16"), CALLER.replace("# triton", "")),
        *(BROKEN, BROKEN.replace("launch", "other")),
    ),
    "hub.py": (
        *("from launch import launch\n", "from launch import *\n", "def launch(x, rows):\n    pass\n", None),
        *("from launch import launch\n(", "from launch import launch\n\ndef f():\n    (\n"),
    ),
    "user.py": (
        *(USER, USER.replace("hub", "launch"), USER.replace("from hub import launch", "launch = max"), LOCAL),
        *(BROKEN_FUNCTION, BROKEN_OTHER, BROKEN_OTHER.replace("hub", "launch"), USER + "("),
        SIZES_AND_BROKEN.format(VARYING),
    ),
    "idle.py": (IDLE, None, IDLE + "x = [\n", IDLE + "\ndef other():\n    [launch\n", IDLE + "def launch(:\n"),
    "keeper.py": (
        *("# triton\nimport kernels\n", "# triton\nimport kernels\n\nTABLE = [kernels.kernel]\n", None),
        *("# triton\nimport kernels\n\nTABLE = [kernels.kernel\n", "# triton\nimport kernels\n(\n"),
    ),
    "env.py": ("import os\nos.environ['TRITON_INTERPRET'] = '1'\n", None, "os.environ['TRITON_INTERPRET'] = ('1'\n"),
    "Dockerfile": ("ENV TRITON_INTERPRET=1\n", None),
    "quiet.py": ("import triton  # triton-doctor: ignore-file[TRD201]\n", None),
}


opened: list[str] = []


def note(event: str, arguments: tuple[object, ...]) -> None:
    if event in {"open", "sqlite3.connect"}:
        opened.append(str(arguments[0]))


def put(path: Path, text: str | None) -> None:
    path.unlink(missing_ok=True)
    if text is not None:
        path.write_text(text)


def with_comment(text: str | None, line: int | None) -> str | None:
    """`text` with a comment of names, and an empty line, behind that many lines."""
    if text is None or line is None:
        return text
    lines = text.split("\n")
    return "\n".join([*lines[:line], "# launch kernel size rows triton", "", *lines[line:]])


@pytest.fixture
def short_of_breath(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are trusted a moment after they were written, as they are after two seconds."""
    monkeypatch.setattr(contents, "_MARGIN_NS", 20_000_000)


def breathe() -> None:
    time.sleep(0.03)


@example([("idle.py", 2, False, None)])
@example(
    [("launch.py", 0, False, 3), ("user.py", 0, False, 4), ("launch.py", 0, False, None), ("user.py", 1, False, 0)]
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(STATES)), st.integers(0, 9), st.booleans(), st.none() | st.integers(0, 9)),
        max_size=12,
    )
)
@pytest.mark.usefixtures("short_of_breath")
def test_findings_are_those_without_a_cache_whatever_changes(
    folder: Path, edits: list[tuple[str, int, bool, int | None]]
) -> None:
    """Also where the time of a file is set back to what it was, and where a comment on some line moves the others."""
    for name, states in STATES.items():
        put(folder / name, states[0])
    breathe()
    cache = CacheStore(folder, ["."], Settings(root=folder))
    memory = ScanMemory()
    for store in (cache, memory):
        assert {finding.code for finding in found(folder, store)[0]} == {"TRD101", "TRD102", "TRD201", "TRD901"}

    for name, state, set_back, comment in edits:
        file = folder / name
        before = file.stat() if file.exists() else None
        put(file, with_comment(STATES[name][state % len(STATES[name])], comment))
        if set_back and before is not None and file.exists():
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        expected = found(folder, None)
        assert found(folder, cache) == expected
        assert found(folder, memory) == expected


def test_edit_after_edit_reads_only_what_was_edited(
    folder: Path, write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, content in (("kernels.py", KERNEL), ("launch.py", LAUNCH), ("sizes.py", VARYING)):
        write(path, content)
    read: list[str] = []
    for name in ("read_module", "read_from_outline"):
        monkeypatch.setattr(database, name, partial(read_noting, read, getattr(database, name)))
    memory = ScanMemory()
    reads = []

    for edit in range(4):
        found(folder, memory)
        reads.append(sorted(read))
        read.clear()
        (folder / "sizes.py").write_text(f"{VARYING}x = {edit}\n")

    assert reads == [["kernels.py", "launch.py", "sizes.py"]] * 2 + [["sizes.py"]] * 2


def read_noting(paths: list[str], read: Callable[[str, bytes], Module], path: str, text: bytes) -> Module:
    paths.append(path)
    return read(path, text)


def test_modules_asked_for_longest_ago_are_dropped() -> None:
    kept = KeptModules(most=2)
    modules = {path: ReadModule(b"", read_module(path, b""), None) for path in ("a.py", "b.py", "c.py")}
    for path in ("a.py", "b.py", "a.py", "c.py"):
        kept.keep(path, modules[path])

    assert {path for path in modules if kept.find(path, b"") is not None} == {"a.py", "c.py"}


HINTED = """\
from kernels import kernel

def launch(x):
    batch, heads, length, dim = x.shape
    kernel[(1,)](x, batch)
"""
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
            {"launch.py": TRIAL, "caller.py": "x = 1\n"},
            {"caller.py": "from launch import launch\n"},
            id="an import of what was a trial, in a file without Triton",
        ),
        pytest.param(
            {"launch.py": TRIAL, "caller.py": "import launch\n"},
            {"caller.py": "import other\n"},
            id="no import any more of what is a trial then",
        ),
        pytest.param(
            {"launch.py": TRIAL},
            {"launch.py": TRIAL.replace("allclose", "relu")},
            id="a trial that compares nothing any more",
        ),
        pytest.param(
            {"launch.py": TRIAL, "hub.py": ""},
            {"hub.py": "from launch import *\n"},
            id="a package that hands on all of a trial",
        ),
        pytest.param(
            {
                "launch.py": "",
                "p/__init__.py": "from p.launch import launch\n",
                "p/launch.py": HINTED,
                "main.py": "from p import launch\nlaunch(1)\n",
            },
            {"main.py": "from p import launch\n"},
            id="no use any more of what is imported from a package",
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
    cache = CacheStore(folder, ["."], Settings(root=folder))
    assert found(folder, cache) == found(folder, None)

    for path, changed in after.items():
        put(folder / path, changed)

    assert found(folder, cache) == found(folder, None)


@pytest.mark.usefixtures("short_of_breath")
def test_files_that_are_as_they_were_are_not_read(folder: Path, write: Callable[[str, str], Path]) -> None:
    for path, content in (("kernels.py", KERNEL), ("launch.py", LAUNCH), ("sizes.py", VARYING)):
        write(path, content)
    breathe()
    cache = CacheStore(folder, ["."], Settings(root=folder))
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
        pytest.param("kernels.py", KERNEL + "x = 1\n", {"kernels.py", "launch.py"}, id="the kernel"),
        pytest.param("kernels.py", "# a comment\n" + KERNEL, {"kernels.py", "launch.py"}, id="a comment in its file"),
        pytest.param("other.py", "import triton\nf[grid](x)\n", {"other.py"}, id="a file that is not asked by others"),
    ],
)
def test_only_what_rests_on_a_change_is_worked_out_again(
    folder: Path, write: Callable[[str, str], Path], name: str, text: str | None, anew: set[str]
) -> None:
    for path, content in (("kernels.py", KERNEL), ("launch.py", LAUNCH), ("sizes.py", VARYING)):
        write(path, content)
    cache = CacheStore(folder, ["."], Settings(root=folder))
    found(folder, cache)
    put(folder / name, text)
    database = Database(list(find_files([folder], Settings(root=folder), cwd=folder)))
    memory = cache.read().load_rest()

    scan_result, changes = memory.after_edits(database)
    summaries = summarize_files(database, scan_result.summaries, changes)

    assert summaries.recomputed == anew


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
        pytest.param(
            "user.py", USER.replace("    launch", "    import triton\n    launch"), False, id="more in a caller"
        ),
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
    cache = CacheStore(folder, ["."], Settings(root=folder))
    found(folder, cache)
    put(folder / name, text)
    database = Database(list(find_files([folder], Settings(root=folder), cwd=folder)))
    memory = cache.read().load_rest()

    scan_result, changes = memory.after_edits(database, {"test_launch.py"})

    assert scan_result.file_results["kernels.py"].dependencies.hold_after(changes) == stands


def test_full_disk_leaves_what_was_there(folder: Path, write: Callable[[str, str], Path]) -> None:
    write("kernels.py", KERNEL)
    cache = CacheStore(folder, ["."], Settings(root=folder))
    found(folder, cache)
    kept = cache.read()
    write("kernels.py", KERNEL + "\n")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with_cache = found(folder, cache)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert with_cache == found(folder, None)
    assert cache.read().seen == kept.seen != NO_CACHED_SCAN.seen


def test_check_leaves_nothing_in_the_project(
    doctor: Callable[..., Outcome], folder: Path, write: Callable[[str, str], Path]
) -> None:
    write("kernels.py", KERNEL)

    doctor("check")

    assert [path.name for path in folder.iterdir()] == ["kernels.py"]


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


def test_no_cache_leaves_nothing(
    doctor: Callable[..., Outcome], folder: Path, write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    write("kernels.py", KERNEL)

    doctor("check", "--no-cache")

    assert [path.name for path in folder.iterdir()] == ["kernels.py"]


def test_caller_that_does_not_name_triton_is_asked_again_when_it_changes_or_comes(
    tmp_path: Path, write: Callable[[str, str], Path]
) -> None:
    launch = "from kernels import kernel\n\ndef launch(q):\n    batch, heads, length, dim = q.shape\n"
    caller = "from launch import launch\n\ndef step(q):\n    launch(q)\n"
    tested = caller.replace("    launch", "    assert q.shape[0] == 1\n    launch")
    write("kernels.py", KERNEL)
    write("launch.py", f"{launch}    kernel[(1,)](q, batch)\n")
    counts = []

    for text in (None, tested, caller, tested):
        if text is not None:
            write("step.py", text)
        findings, undecided = found(tmp_path, CacheStore(tmp_path, ["."], Settings(root=tmp_path)))
        assert (findings, undecided) == found(tmp_path, None)
        counts.append(len(findings))

    assert counts == [1, 0, 1, 0]

"""What `check PATH` reads and what it reports on: the project is read from its root, the report is about PATH."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from triton_doctor.settings import Settings
from triton_doctor.static.sources import workspace as workspaces
from triton_doctor.static.sources.workspace import find_project, find_workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Write = Callable[..., Path]
    Doctor = Callable[..., Outcome]

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, n: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 0, mask=at < n)
"""
LAUNCH = """\
from pkg.ops.kernels import fill


def run(x, lens: list[int]):
    fill[(1,)](x, max(lens), BLOCK=64)
"""


@pytest.fixture
def project(write: Write, folder: Path) -> Path:
    """A project whose kernel and whose launch lie in different folders."""
    write("pyproject.toml", "[project]\nname = 'pkg'\n")
    write("pkg/__init__.py")
    write("pkg/ops/__init__.py")
    write("pkg/ops/kernels.py", KERNEL)
    write("pkg/layers/__init__.py")
    write("pkg/layers/layer.py", LAUNCH)
    write("tests/test_it.py", "import os\nos.environ['TRITON_INTERPRET'] = '1'\n")
    return folder


def found(doctor: Doctor, *arguments: str, stdin: bytes = b"") -> set[tuple[str, int, str]]:
    outcome = doctor("check", *arguments, "--output-format", "json", stdin=stdin)
    return {(one["path"], one["line"], one["code"]) for one in json.loads(outcome.out)["findings"]}


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("path", ["pkg/layers", "pkg/layers/layer.py"])
def test_part_of_a_project_has_the_findings_that_the_whole_has_there(doctor: Doctor, path: str) -> None:
    whole = found(doctor, ".", "--no-cache")

    part = found(doctor, path, "--no-cache")

    assert ("pkg/layers/layer.py", 5, "TRD201") in part
    assert part == {one for one in whole if one[0].startswith(path)}


@pytest.mark.usefixtures("project")
def test_report_on_a_part_counts_that_part(doctor: Doctor) -> None:
    outcome = doctor("check", "pkg/ops", "--output-format", "json")

    summary = json.loads(outcome.out)["summary"]
    assert (summary["files_seen"], summary["kernels"], summary["launches"]) == (2, 1, 0)


def test_stdin_is_read_in_the_project_of_the_file_that_it_stands_for(doctor: Doctor, project: Path) -> None:
    text = LAUNCH.replace("    fill", "\n    fill").encode()

    assert found(doctor, "--stdin-filename", "pkg/layers/layer.py", "-", stdin=text) == {
        ("pkg/layers/layer.py", 6, "TRD201")
    }
    (project / "pkg/layers/layer.py").unlink()
    assert found(doctor, "--stdin-filename", "pkg/new/not_there.py", "-", stdin=LAUNCH.encode()) == {
        ("pkg/new/not_there.py", 5, "TRD201")
    }


def test_findings_of_the_parts_are_those_of_the_whole(doctor: Doctor, project: Path) -> None:
    files = [path.relative_to(project).as_posix() for path in project.rglob("*.py")]

    whole = found(doctor, ".", "--no-cache")

    assert set[tuple[str, int, str]]().union(*(found(doctor, file) for file in files)) == whole


def test_paths_are_those_of_the_working_directory(
    doctor: Doctor, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "pkg" / "layers")

    assert found(doctor, ".", "--no-cache") == {("layer.py", 5, "TRD201")}
    outcome = doctor("check", "../layers/layer.py", "--output-format", "json")
    (finding,) = json.loads(outcome.out)["findings"]
    assert finding["kernel_path"] == "../ops/kernels.py"


def test_tests_are_told_from_the_root_of_the_project(doctor: Doctor, project: Path) -> None:
    outcome = doctor("check", "tests/test_it.py", "--output-format", "json")

    assert {one["severity"] for one in json.loads(outcome.out)["findings"]} == {"info"}
    assert find_workspace([project / "tests"], Settings(root=project / "tests"), cwd=project).settings.root == project


def test_part_leaves_and_finds_the_cache_of_the_whole(
    doctor: Doctor, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`check FILE` opens no source that `check .` has read, and adds no second cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.parent / "cache"))
    for path in (*project.rglob("*.py"), project / "pyproject.toml"):
        os.utime(path, ns=(10**18, 10**18))
    found(doctor, ".")
    (file,) = (project.parent / "cache").rglob("*.sqlite")
    kept = file.stat().st_mtime_ns

    assert found(doctor, "pkg/layers/layer.py") == {("pkg/layers/layer.py", 5, "TRD201")}
    assert [*file.parent.iterdir()] == [file]
    assert file.stat().st_mtime_ns == kept


@pytest.mark.parametrize(
    ("files", "asked", "root", "base"),
    [
        pytest.param(["a/setup.cfg", "a/b/c.py"], "a/b/c.py", "a", "a", id="the nearest setup.cfg"),
        pytest.param(["a/.git", "a/b/pyproject.toml", "a/b/c.py"], "a/b/c.py", "a/b", "a/b", id="the nearer of two"),
        pytest.param(["b/c.py"], "b/c.py", ".", ".", id="the working directory that contains it"),
        pytest.param([".venv/lib/p/c.py"], ".venv/lib/p/c.py", ".venv/lib/p", ".venv/lib", id="what is installed"),
        pytest.param(["a/pyproject.toml", "a/.venv/lib/p/c.py"], "a/.venv/lib/p", "a/.venv/lib/p", "a/.venv/lib",
                     id="what is installed in a project"),
    ],
)  # fmt: skip
def test_root_of_a_project(write: Write, folder: Path, files: list[str], asked: str, root: str, base: str) -> None:
    for name in files:
        write(name)

    project = find_project(folder / asked, folder)

    assert (project.root, project.base) == (folder / root, folder / base)


def test_project_outside_of_the_working_directory_is_the_folder_and_the_files_above(write: Write, folder: Path) -> None:
    write("x/ops/kernel.py")
    write("x/train.py")
    write("x/other/far.py")
    write("cwd/mine.py")

    read = find_workspace([folder / "x" / "ops"], Settings(root=folder / "x" / "ops"), cwd=folder / "cwd")

    assert {file.shown for file in read.files} == {"ops/kernel.py", "train.py"}
    assert read.report_paths == {"ops/kernel.py"}


def test_folder_with_too_many_files_is_no_project_and_this_is_said(
    doctor: Doctor, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspaces, "MOST_FILES", 3)
    for number in range(5):
        write(f"many/{number}.py")
    write("mine/a.py", KERNEL)

    assert "holds more than" in doctor("check", "mine").err
    assert "holds more than" not in doctor("check", ".").err


def test_file_that_launches_as_another_does_is_told_so_when_it_is_asked_for_alone(
    project: Path, write: Write, doctor: Doctor
) -> None:
    write("pkg/layers/other.py", LAUNCH)

    alone = json.loads(doctor("check", "pkg/layers/other.py", "--output-format", "json").out)["findings"]
    together = json.loads(doctor("check", "pkg/layers", "--output-format", "json").out)["findings"]

    assert [(one["path"], one["line"], one["column"], one["code"]) for one in alone] == [
        ("pkg/layers/other.py", 5, 5, "TRD201")
    ]
    assert [place["path"] for place in alone[0]["also"]] == ["pkg/layers/layer.py"]
    assert [(one["path"], one["code"]) for one in together] == [("pkg/layers/layer.py", "TRD201")]
    assert project.is_dir()


def test_baseline_of_the_whole_project_knows_what_one_file_is_told(project: Path, write: Write, doctor: Doctor) -> None:
    write("pkg/layers/other.py", LAUNCH)
    doctor("check", ".", "--write-baseline", "--baseline", "known.json")

    outcome = doctor("check", "pkg/layers/other.py", "--baseline", "known.json")

    assert outcome.status == 0
    assert (project / "known.json").is_file()


@pytest.mark.parametrize(
    ("asked", "read"),
    [
        pytest.param(
            ["a"], {"a", "b", "c", "main.py", "Makefile"}, id="what it imports and what imports it, however far"
        ),
        pytest.param(["d-1.0"], {"d-1.0", "Makefile"}, id="nothing beside what nobody can import"),
        pytest.param(["d-1.0/d/k.py"], {"d-1.0", "Makefile"}, id="all around a file"),
        pytest.param(["d-1.0", "e-1.0"], {"d-1.0", "e-1.0", "Makefile"}, id="two that have nothing to do with others"),
        pytest.param(["x/f"], {"x/f", "x/g", "h", "Makefile"}, id="of a folder of folders"),
        pytest.param(["."], None, id="the whole"),
    ],
)
def test_of_a_folder_that_is_no_project_only_what_may_matter_is_read(
    write: Write, folder: Path, asked: list[str], read: set[str] | None
) -> None:
    files = {
        "a/k.py": "from b import k",
        "b/k.py": "",
        "c/deep/k.py": "x = 1\nfrom \\\n    a.k import (\n  y)",
        "main.py": "import os, c.deep",
        "d-1.0/d/k.py": "import triton",
        "d-1.0/d/other.py": "",
        "e-1.0/d/k.py": "",
        "x/f/k.py": "",
        "x/g/k.py": "from x.f import k",
        "x/i/k.py": "import j",
        "h/k.py": "import x.g",
        "Makefile": "test:\n\tTRITON_INTERPRET=1 python x",
    }
    for name, text in files.items():
        write(name, text)

    workspace = find_workspace([folder / path for path in asked], Settings(root=folder), cwd=folder)

    found = {file.shown for file in workspace.files}
    wanted = files if read is None else {one for one in files if any(f"{one}/".startswith(f"{at}/") for at in read)}
    assert found == set(wanted)


def test_text_from_stdin_is_read_with_what_it_imports(write: Write, folder: Path) -> None:
    write("a/k.py", "")
    write("b/k.py", "")

    workspace = find_workspace([folder / "c/new.py"], Settings(root=folder), cwd=folder, text=b"from b import k")

    assert {file.shown for file in workspace.files} == {"b/k.py", "c/new.py"}


def test_no_fix_is_safe_where_a_file_that_is_not_read_names_the_kernel(
    doctor: Doctor, write: Write, folder: Path
) -> None:
    write("src/lib/__init__.py")
    launch = "\n\ndef run(x):\n    _fill[(1,)](x, 2, BLOCK=64)\n"
    write("src/lib/_fill.py", KERNEL.replace("def fill", "def _fill").replace(", mask=at < n", "") + launch)
    alone = doctor("check", "src", "--output-format", "json", "--no-cache")
    write("scripts/run.py", "from lib._fill import _fill\n\n\ndef run(x):\n    _fill[(1,)](x, n=1, BLOCK=64)\n")

    used = doctor("check", "src", "--output-format", "json", "--no-cache")

    assert [one["fixable"] for one in json.loads(alone.out)["findings"]] == ["safe"]
    assert [one["fixable"] for one in json.loads(used.out)["findings"]] != ["safe"]
    assert {file.shown for file in find_workspace([folder / "src"], Settings(root=folder), cwd=folder).files} == {
        "src/lib/__init__.py",
        "src/lib/_fill.py",
    }

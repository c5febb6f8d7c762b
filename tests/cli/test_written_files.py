"""What a run writes: nothing outside of the project unless it is named, over no input, and no half of a file."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]
    Write = Callable[..., Path]

FOUND = "import os\nos.environ['TRITON_INTERPRET'] = '1'\nimport triton\n"
RECORDING = Path(__file__).parents[2] / "fixtures" / "recordings" / "vector_add.jsonl"


@pytest.fixture
def project(folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, a project beside which lies `victim/`."""
    write("victim/kept.txt", "kept")
    write("project/a.py", FOUND)
    monkeypatch.chdir(folder / "project")
    return folder / "project"


@pytest.mark.parametrize("setting", ["../victim/x", "link/x", "linked.json", None])
def test_baseline_of_the_settings_is_not_written_outside_of_the_project(
    doctor: Doctor, project: Path, setting: str | None
) -> None:
    (project / "link").symlink_to("../victim")
    (project / "linked.json").symlink_to("../victim/x")
    if setting is None:
        (project / "triton-doctor-baseline.json").symlink_to("../victim/x")
    else:
        (project / "pyproject.toml").write_text(f'[tool.triton-doctor]\nbaseline = "{setting}"\n')

    outcome = doctor("check", ".", "--write-baseline")

    assert outcome.status == 2
    assert "would be written outside of the project" in outcome.err
    assert outcome.err.count("\n") == 2
    assert [path.name for path in (project.parent / "victim").iterdir()] == ["kept.txt"]


def test_baseline_that_the_command_line_names_is_written_anywhere(doctor: Doctor, project: Path) -> None:
    assert doctor("check", ".", "--write-baseline", "--baseline", "../victim/x").status == 0
    assert (project.parent / "victim" / "x").exists()


@pytest.mark.parametrize("before", [None, '{"schema": 1, "findings": []}\n'])
def test_baseline_on_a_full_disk_is_not_left_half_written(project: Path, before: str | None) -> None:
    path = project / "triton-doctor-baseline.json"
    if before is not None:
        path.write_text(before)

    def fill_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    done = subprocess.run(
        [sys.executable, "-m", "triton_doctor", "check", ".", "--write-baseline", "--no-cache"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=fill_disk,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )

    assert done.returncode == 2
    assert done.stderr.startswith("triton-doctor: triton-doctor-baseline.json cannot be written: file too large\n")
    assert (path.read_text() if path.exists() else None) == before
    assert sorted(one.name for one in project.iterdir()) == sorted(["a.py", *([path.name] if before else [])])


def test_baseline_keeps_its_mode_and_its_link(doctor: Doctor, project: Path) -> None:
    doctor("check", ".", "--write-baseline")
    path = project / "triton-doctor-baseline.json"
    path.chmod(0o640)
    path.rename(project / "real.json")
    path.symlink_to("real.json")

    assert doctor("check", ".", "--write-baseline").status == 0
    assert path.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        pytest.param(["check", "a.py"], "a.py", id="a file that is named"),
        pytest.param(["check", "."], "./a.py", id="a file of a folder"),
        pytest.param(["check", "."], "other.py", id="by a link"),
        pytest.param(["check", ".", "--recording", "run.jsonl"], "run.jsonl", id="a recording"),
        pytest.param(["check", ".", "--baseline", "known.json"], "known.json", id="the baseline"),
        pytest.param(["report", "run.jsonl"], "run.jsonl", id="a recording of report"),
        pytest.param(["report", "runs"], "runs/one.jsonl", id="a recording of a folder"),
        pytest.param(["env", "--env-file", "my.env"], "my.env", id="the file of env"),
    ],
)
def test_report_replaces_no_input(doctor: Doctor, project: Path, arguments: list[str], output: str) -> None:
    (project / "other.py").symlink_to("a.py")
    (project / "runs").mkdir()
    for name in ("run.jsonl", "runs/one.jsonl"):
        (project / name).write_bytes(RECORDING.read_bytes())
    (project / "known.json").write_text('{"schema": 1, "findings": []}\n')
    (project / "my.env").write_text("TRITON_DEBUG=1\n")
    before = (project / output).read_bytes()

    outcome = doctor(*arguments, "-o", output)

    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == (f"triton-doctor: -o {Path(output)} would replace what is read\nhint: name another file\n")
    assert (project / output).read_bytes() == before


def test_report_replaces_an_earlier_report(doctor: Doctor, project: Path) -> None:
    (project / "report.txt").write_text("old")

    assert doctor("check", ".", "-o", "report.txt").status == 1
    assert "TRD101" in (project / "report.txt").read_text()

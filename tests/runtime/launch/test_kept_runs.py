"""What `run` keeps by itself: where, how much of it, and that nothing in use is removed."""

import itertools
import os
from pathlib import Path

import pytest

from triton_doctor.cli import main
from triton_doctor.runtime.kept_runs import (
    NAME,
    RUNS_KEPT,
    find_latest,
    keeping_folder,
    list_runs,
    open_run,
    reading,
    remove_idle,
)
from triton_doctor.runtime.recording import Recording

HERE = Path(__file__).parent
RECORDING = HERE.parents[2] / "fixtures" / "recordings" / "vector_add.jsonl"
RUN = ("-m", "triton_doctor", "run", "--target", "cuda:90")
PROGRAM = f"import sys\nsys.path.append({str(HERE)!r})\nfrom kernels import launch\nlaunch(10)\n"
CLOCK = itertools.count(1)


@pytest.fixture
def project(folder):
    """An empty project, which is the working directory."""
    (folder / "pyproject.toml").write_text("")
    return folder


def keep(folder, run, *, is_open=False):
    """Keep a run with a recording, and return its path and its lock, which is released unless `is_open`."""
    path, held = open_run(str(folder), run)
    (Path(path) / f"{run}.jsonl").write_bytes(RECORDING.read_bytes())
    if not is_open:
        os.close(held)
    at_ns = next(CLOCK)
    os.utime(Path(path) / ".triton-doctor-lock", ns=(at_ns, at_ns))
    return Path(path), held


def test_project_keeps_its_runs_and_shows_the_latest(project, runner, write, capsys):
    write("program.py", PROGRAM)
    done = runner()(*RUN, "program.py")

    (run,) = list_runs(NAME)
    assert f"the recording is kept in {run}: `triton-doctor report --open` shows it as a page" in done.stderr
    assert Recording.read(run).count == 1
    assert (project / NAME / ".gitignore").read_text() == "*\n"
    assert {path.stat().st_mode & 0o777 for path in (project / NAME, Path(run))} == {0o700}

    assert main(["report"]) == 0
    printed = capsys.readouterr()
    assert printed.err == f"triton-doctor: the latest run: {project / run}\n"
    assert "1 kernel for cuda:90" in printed.out


def test_setting_keeps_nothing(project, runner, write):
    write("pyproject.toml", "[tool.triton-doctor]\nkeep = false\n")
    write("program.py", PROGRAM)
    done = runner()(*RUN, "program.py")

    assert "recording is kept" not in done.stderr
    assert not (project / NAME).exists()


def test_report_that_a_suffix_names_is_written_beside_the_kept_run(project, runner, write):
    write("program.py", PROGRAM)
    done = runner()(*RUN, "-o", "run.html", "program.py")

    assert (project / "run.html").read_text().startswith("<!doctype html>")
    assert "the report is in run.html" in done.stderr
    assert len(list_runs(NAME)) == 1


def test_program_without_a_kernel_leaves_no_run(project, runner):
    runner()(*RUN, "-c", "pass")

    assert list_runs(NAME) == []


def test_folder_outside_of_a_project_keeps_its_runs_with_the_state_of_the_user(folder, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    where = keeping_folder(str(folder))
    path, _ = keep(where, "a")

    assert where == str(folder / "state" / "triton-doctor")
    assert find_latest(str(folder)) == str(path)


def test_newest_runs_stay(folder):
    for number in range(RUNS_KEPT + 3):
        keep(folder, f"run{number}")
    keep(folder, "last")

    assert [Path(path).name for path in list_runs(str(folder))] == [
        "last", *(f"run{number}" for number in range(RUNS_KEPT + 2, 3, -1))
    ]  # fmt: skip


def test_run_that_goes_on_or_is_read_is_not_removed(folder):
    live, held = keep(folder, "live", is_open=True)
    read, _ = keep(folder, "read")
    for number in range(RUNS_KEPT - 2):
        keep(folder, f"run{number}")
    with reading(read):
        for number in range(2):
            keep(folder, f"more{number}")
        assert live.exists()
        assert read.exists()
    os.close(held)
    keep(folder, "last")

    assert not live.exists()
    assert not read.exists()


def test_run_whose_process_outlives_it_is_not_removed(folder):
    path, _ = keep(folder, "run")
    unclosed = path / f"{os.uname().nodename}-1-1.{os.getpid()}.jsonl"
    unclosed.write_text("{}\n")
    remove_idle(str(path))
    kept = path.exists()
    unclosed.rename(path / f"{os.uname().nodename}-1-1.999999999.jsonl")
    remove_idle(str(path))

    assert kept
    assert not path.exists()


def test_ranks_of_a_job_are_one_run_and_its_second_start_another(folder, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("MASTER_PORT", "29500")
    paths = []
    for rank in ("0", "1", "1", "0"):
        monkeypatch.setenv("RANK", rank)
        paths.append(Path(open_run(str(folder), f"run{len(paths)}")[0]).name)

    assert paths[0] == paths[1] != paths[2] == paths[3]
    assert not any("29500" in path for path in paths)


def test_page_of_the_latest_run_is_opened_in_a_browser(project, write, monkeypatch, capsys):
    path, _ = keep(keeping_folder(str(project)), "run")
    write("browser", '#!/bin/sh\necho "$1" > address\n').chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{project}/browser %s")
    monkeypatch.setattr("webbrowser._tryorder", None)

    assert main(["report", "--open"]) == 0
    assert (project / "address").read_text() == f"{(path / 'report.html').as_uri()}\n"
    assert (path / "report.html").read_text().startswith("<!doctype html>")
    assert f"the page is {path / 'report.html'}" in capsys.readouterr().err


def test_report_without_a_recording_names_the_command_that_makes_one(folder, monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))

    assert main(["report"]) == 2
    assert "there is no recording here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "status"), [(("program.py", "--dry"), 2), (("--", "program.py", "--dry"), 0)], ids=["asked", "passed on"]
)
def test_dry_after_the_program_is_asked_about(folder, runner, write, words, status):
    write("program.py", "")
    done = runner()("-m", "triton_doctor", "run", *words, check=False)

    assert done.returncode == status
    assert ("--dry comes after program.py: is it for the program, or for triton-doctor?" in done.stderr) is bool(status)


def test_program_that_fails_without_a_gpu_is_shown_the_way(folder, runner, write):
    if any(
        name.startswith("nvidia") or name in ("kfd", "dxg")
        for name in os.listdir("/dev")  # noqa: PTH208
    ):
        pytest.skip("this machine has a GPU")
    write("program.py", "import torch, triton\ntorch.ones(1, device='cuda')\n")
    done = runner()("-m", "triton_doctor", "run", "program.py", check=False)

    assert done.returncode == 1
    assert "this machine has no GPU\nhint: `triton-doctor run --dry program.py` runs" in done.stderr

"""`--triton-doctor-dry`: tests run without a GPU, and fail only where the program is at fault."""

import pytest

from triton_doctor import Recording

CONFTEST = """
import torch

# As a suite does that skips what needs a GPU.
device = "cuda" if torch.cuda.is_available() else "cpu"
"""
TESTS = """
import pytest
import torch
from conftest import device
from kernels import scale


def launch(*lengths):
    for n in lengths:
        x = torch.empty(n, device=device)
        scale[(4,)](x, n, BLOCK=256)
    return x


def test_numbers_are_close():
    torch.testing.assert_close(launch(700), torch.ones(700, device=device))


def test_that_wants_a_value():
    assert launch(701).sum().item() == 42


def test_with_a_bug():
    launch(702)
    raise ValueError("a bug")


@pytest.mark.max_compiles(1)
def test_with_a_limit():
    assert launch(703, 704).sum().item() == 42


def test_that_does_not_end():
    while True:
        pass
"""


@pytest.fixture
def dry_project(project):
    """A project whose conftest asks for a GPU."""
    project.write("conftest.py", CONFTEST)
    project.write("test_scale.py", TESTS)
    return project


def test_a_suite_runs_dry_and_only_what_is_wrong_fails_and_a_baseline_holds(dry_project):
    done = dry_project.pytest(
        "-rA",
        "--triton-doctor-dry",
        "--triton-doctor-dry-seconds=1",
        "--triton-doctor-report=dry.jsonl",
        "--triton-doctor-baseline=compiles.json",
        "--triton-doctor-update-baseline",
    )

    outcomes = dict(line.split()[:2][::-1] for line in done.stdout.splitlines() if "test_scale.py::" in line)
    assert {name.partition("::")[2]: outcome for name, outcome in outcomes.items() if "::" in name} == {
        "test_numbers_are_close": "PASSED",
        "test_that_wants_a_value": "XFAIL",
        "test_with_a_bug": "FAILED",
        "test_with_a_limit": "FAILED",
        "test_that_does_not_end": "XFAIL",
    }
    assert "`scale` compiled 2 times in this test, at most 1 allowed" in done.stdout
    assert "1x ran longer than 1 s" in done.stdout
    assert "dry: 5 launches, 5 variants of 1 kernel" in done.stdout
    recording = Recording.read(dry_project.folder / "dry.jsonl")
    assert recording.headers[0].dry
    assert len(recording.compiled) == 5

    # Against the baseline that this run wrote.
    dry_project.write("test_scale.py", TESTS.replace("launch(701)", "launch(799)"))
    broken = dry_project.pytest("-k", "close or wants", "--triton-doctor-dry", "--triton-doctor-baseline=compiles.json")
    assert broken.returncode == 1
    assert "1 failed, 1 passed" in broken.stdout
    assert "compiles.json" in broken.stdout


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--triton-doctor-dry-seconds=0", "triton_doctor_dry_seconds is '0'"),
        ("--triton-doctor-dry-unknown=ask", "unknown is 'ask'"),
        ("--triton-doctor-dry-writes=ask", "writes is 'ask'"),
        ("--triton-doctor-target=cuda:90,sm=1", "no such part of a target: 'sm=1'"),
    ],
)
def test_a_flag_that_means_nothing_is_a_usage_error(project, flag, message):
    done = project.pytest("--triton-doctor-dry", flag)

    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert message in done.stderr


def test_files_of_the_tests_stay_and_the_reports_of_pytest_are_written(project):
    project.write("model.pt", "weeks of training")
    project.write("report.xml", "of an earlier run")
    project.write("test_save.py", "import torch\n\n\ndef test_save():\n    torch.save(torch.ones(3), 'model.pt')\n")
    done = project.pytest("--triton-doctor-dry", "--junitxml=report.xml", "test_save.py")

    assert done.returncode == 0, done.stdout
    assert (project.folder / "model.pt").read_text() == "weeks of training"
    assert "test_save" in (project.folder / "report.xml").read_text()
    assert "model.pt is as it was before: the program wrote it" in done.stdout

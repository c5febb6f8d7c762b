"""Standard streams that are full, closed or left by their reader, and Ctrl-C: the command as a shell starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "recordings"
KERNEL = Path(__file__).parents[2] / "fixtures" / "seeds" / "ragged_attention_mask.py"
COMMANDS = [
    pytest.param(f"check {KERNEL}", id="check"),
    pytest.param(f"check {KERNEL} --output-format json", id="check json"),
    pytest.param("rule", id="rule"),
    pytest.param("rule TRD201", id="rule"),
    pytest.param("env --variables", id="env"),
    pytest.param("env", id="env facts"),
    pytest.param("explain '*' .", id="explain"),
    pytest.param("check --clean", id="clean"),
    pytest.param("--help", id="help"),
    pytest.param("check --help", id="help of a verb"),
    pytest.param("--version", id="version"),
    pytest.param(f"report {RECORDINGS}", id="report"),
]


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `line` as bash does, `doctor` being the command."""
    doctor = f"'{sys.executable}' -m triton_doctor"
    script = f"set -o pipefail; {line.replace('doctor ', f'{doctor} ', 1)}"
    return subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("stdout", "reason"),
    [
        pytest.param("> /dev/full", "no space left on device", id="full"),
        pytest.param(">&-", "it is closed", id="closed"),
    ],
)
def test_stdout_that_cannot_be_written_is_one_line_and_exit_2(
    command: str, stdout: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text(KERNEL.read_text(encoding="utf-8"), encoding="utf-8")

    done = shell(f"doctor {command} {stdout}", tmp_path)

    assert (done.returncode, done.stderr) == (2, f"triton-doctor: stdout cannot be written: {reason}\n")


@pytest.mark.parametrize(
    ("line", "status"),
    [
        pytest.param(f"doctor check {KERNEL} --output-format json | head -c 1", 1, id="found"),
        pytest.param("doctor rule | head -1", 0, id="rules"),
    ],
)
def test_reader_that_leaves_does_not_change_the_status(line: str, status: int, tmp_path: Path) -> None:
    done = shell(line, tmp_path)

    assert (done.returncode, done.stderr) == (status, "")


@pytest.mark.parametrize(
    ("line", "status"),
    [
        pytest.param("doctor check . 2>&-", 0, id="closed"),
        pytest.param("doctor check nope.py 2>&-", 2, id="closed and wrong"),
        pytest.param("doctor check nope.py 2>/dev/full", 2, id="full"),
        pytest.param("doctor run nope.py 2>&-", 2, id="run"),
        pytest.param("doctor run nope.py 2>/dev/full", 2, id="run, full"),
    ],
)
def test_stderr_that_cannot_be_written_changes_no_status(line: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("", encoding="utf-8")

    assert shell(line, tmp_path).returncode == status


def test_closed_stdin_is_said(tmp_path: Path) -> None:
    done = shell("doctor check - <&-", tmp_path)

    expected = "triton-doctor: stdin cannot be read: it is closed\nhint: name the file\n"
    assert (done.returncode, done.stderr) == (2, expected)


def test_report_to_a_full_disk_is_said(tmp_path: Path) -> None:
    done = shell(f"doctor check {KERNEL} -o /dev/full", tmp_path)

    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2,
        "triton-doctor: /dev/full cannot be written: no space left on device",
    )


# Stands for a Ctrl-C at a moment that no test could hit: the process sends it to itself when a module is imported.
INTERRUPTS = """
import os, signal, sys
class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
from triton_doctor.__main__ import main
sys.argv[1:] = {arguments!r}
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("triton_doctor.cli", ["check", "."], id="at the start"),
        pytest.param("typer", ["check", "."], id="in the library of the command line"),
        pytest.param("triton_doctor.static.scan", ["check", "."], id="in check"),
        pytest.param("triton_doctor.rulebook", ["rule", "TRD201"], id="in rule"),
        pytest.param("triton_doctor.run_command", ["run", "a.py"], id="in run"),
    ],
)
def test_interrupt_is_silent_and_exits_with_130(name: str, arguments: list[str], tmp_path: Path) -> None:
    script = INTERRUPTS.format(name=name, arguments=arguments)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600
    )

    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_interrupt_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    script = INTERRUPTS.format(name="typer", arguments=["--version"])
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        env=os.environ.copy(),
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("triton-doctor ")


@pytest.mark.parametrize("columns", ["9" * 5000, "9" * 7, "0", "-1", "\u0663" * 5000])
@pytest.mark.parametrize("arguments", [["check", "."], ["rule"], ["rule", "TRD201"], ["env"], ["--help"]])
def test_width_that_no_terminal_has_is_no_matter(arguments: list[str], columns: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(:\n    import triton.jit\n")
    command = [sys.executable, "-m", "triton_doctor", *arguments]
    environment = {**os.environ, "COLUMNS": columns}

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)

    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr

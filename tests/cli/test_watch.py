"""`check --watch`: what a terminal shows while files change."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.tritons import skip_without

if TYPE_CHECKING:
    from pathlib import Path

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def _copy(x, n: tl.constexpr):
    tl.store(x + n, n)


def run(x, rows):
    _copy[(1,)](x, n=len(rows))
"""


def watching(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "triton_doctor", "check", "--watch", "--output-format", "concise", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def next_summary(process: subprocess.Popen[str]) -> str:
    """The line that ends the next report."""
    assert process.stdout is not None
    return next(line for line in process.stdout if line.startswith(("1 ", "no problems")))


def test_each_change_is_checked_until_ctrl_c(tmp_path: Path) -> None:
    skip_without("watchfiles")
    (tmp_path / "pyproject.toml").touch()
    kernel = tmp_path / "kernel.py"
    kernel.write_text(KERNEL)
    process = watching(tmp_path)
    try:
        assert next_summary(process).startswith("1 ")
        kernel.write_text(KERNEL.replace("len(rows)", "8"))
        assert next_summary(process).startswith("no problems")
        (tmp_path / "another.py").write_text(KERNEL)
        assert next_summary(process).startswith("1 ")
        (tmp_path / "pyproject.toml").write_text("[tool.triton-doctor]\nselct = []\n")
        (tmp_path / "pyproject.toml").write_text('[tool.triton-doctor]\nignore = ["TRD2"]\n')
        assert next_summary(process).startswith("no problems")
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in stderr


def test_a_path_that_is_not_there_ends_it_at_once(tmp_path: Path) -> None:
    skip_without("watchfiles")
    process = watching(tmp_path, "nowhere")
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "nowhere" in stderr


def test_what_edits_does_not_go_with_it(tmp_path: Path) -> None:
    process = watching(tmp_path, "--fix")
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "--watch only reports" in stderr

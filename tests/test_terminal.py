"""When reports have color, and how wide they are."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from triton_doctor.terminal import color_report, use_color, width_of_report

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

SEED = Path(__file__).parents[1] / "fixtures" / "seeds" / "ragged_attention_mask.py"
RUN = Path(__file__).parents[1] / "fixtures" / "runs" / "two_ranks.jsonl"


@pytest.mark.parametrize(
    ("variables", "on_terminal", "expected"),
    [
        pytest.param({}, True, True, id="a terminal"),
        pytest.param({}, False, False, id="a pipe"),
        pytest.param({"TERM": "dumb"}, True, False, id="a dumb terminal"),
        pytest.param({"NO_COLOR": "1"}, True, False, id="NO_COLOR"),
        pytest.param({"NO_COLOR": ""}, True, True, id="NO_COLOR of nothing"),
        pytest.param({"FORCE_COLOR": "1"}, False, True, id="FORCE_COLOR"),
        pytest.param({"FORCE_COLOR": ""}, False, False, id="FORCE_COLOR of nothing"),
        pytest.param({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True, id="FORCE_COLOR on a dumb terminal"),
        pytest.param({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False, id="both"),
    ],
)
def test_color_follows_the_environment(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], on_terminal: bool, expected: bool
) -> None:
    monkeypatch.setattr(os, "environ", {"TERM": "xterm", **variables})

    assert use_color(on_terminal=on_terminal) is expected


def test_files_have_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"FORCE_COLOR": "1"})

    assert not color_report(to_file=True)


@pytest.mark.parametrize(
    ("columns", "expected"), [("", None), ("60", 60), ("x", None), ("-3", None), ("9" * 5000, None)]
)
def test_width_of_a_pipe_is_what_columns_asks_for(
    monkeypatch: pytest.MonkeyPatch, columns: str, expected: int | None
) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(os, "environ", {"COLUMNS": columns})

    assert width_of_report() == expected


def on_terminal(arguments: list[str], folder: Path, **variables: str) -> bytes:
    """What the command writes to a terminal."""
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "triton_doctor", *arguments],
        cwd=folder,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env=environment | {"TERM": "xterm"} | variables,
    )
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 65536):
            said += piece
    except OSError:
        pass  # so a terminal ends
    os.close(ours)
    process.wait()
    return said


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["check", str(SEED)], id="check"),
        pytest.param(["explain", "*", str(SEED)], id="explain"),
        pytest.param(["rule", "TRD201"], id="rule"),
        pytest.param(["report", str(RUN)], id="report"),
    ],
)
def test_no_color_leaves_no_escapes_on_a_terminal(arguments: list[str], tmp_path: Path) -> None:
    assert b"\x1b" in on_terminal(arguments, tmp_path)
    assert b"\x1b" not in on_terminal(arguments, tmp_path, NO_COLOR="1")


@pytest.mark.parametrize("width", [40, 60])
def test_report_of_a_run_fits_a_narrow_terminal(
    doctor: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    doctor()  # which takes COLUMNS away
    monkeypatch.setattr(os, "environ", {**os.environ, "COLUMNS": str(width)})

    assert max(map(len, doctor("report", str(RUN)).out.splitlines())) <= width

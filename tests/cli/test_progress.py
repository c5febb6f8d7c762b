"""Progress: a bar on a terminal, once it has taken long; elsewhere a line now and then."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """
from triton_doctor.cli import progress
progress.PATIENCE_SECONDS, progress.LINE_SECONDS = {patience}, {line}
with progress.show_progress(2) as on_progress:
    on_progress(1)
    on_progress(2)
"""


def said_to(stderr: int, patience: float, line: float = 1e6) -> None:
    program = PROGRAM.format(patience=patience, line=line)
    subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, stderr=stderr, check=True, env={**os.environ, "TERM": "xterm"}
    )


@pytest.mark.parametrize(
    ("patience", "drawn"), [pytest.param(-1, True, id="long"), pytest.param(1e6, False, id="short")]
)
def test_bar_is_drawn_on_a_terminal_when_it_takes_long(patience: float, drawn: bool) -> None:
    reader, writer = pty.openpty()

    said_to(writer, patience)

    os.write(writer, b"end")
    assert (b"reading" in os.read(reader, 65536)) is drawn


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        pytest.param(
            0, "triton-doctor: reading: 1 of 2 after 0 s\ntriton-doctor: reading: 2 of 2 after 0 s\n", id="long"
        ),
        pytest.param(1e6, "", id="short"),
    ],
)
def test_line_is_printed_where_there_is_no_terminal(tmp_path: Path, line: float, printed: str) -> None:
    with (tmp_path / "stderr").open("wb") as stream:
        said_to(stream.fileno(), -1, line)

    assert (tmp_path / "stderr").read_text() == printed

"""`triton-doctor` without a command: a screen about the folder and the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.report.test_hostile_names import RECORDING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]

KERNEL = """import triton
import triton.language as tl

@triton.jit
def scale(x_ptr, n: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, 16), 0, mask=tl.arange(0, 16) < n)

def run(lengths, x):
    scale[(1,)](x, len(lengths))
"""


def test_folder_of_a_project_is_summed_up_in_a_screen_that_ends_with_zero(
    doctor: Doctor, write: Callable[[str, str], Path]
) -> None:
    write("pyproject.toml", "[project]\nname = 'ops'\n")
    write("ops.py", KERNEL)

    outcome = doctor()

    lines = outcome.out.splitlines()
    assert outcome.status == 0
    assert lines[0].startswith("Machine: ")
    assert "Project: 1 kernel, 1 launch; 1 warning (fixable: 1 with `--fix`)" in outcome.out
    assert "     1  TRD201 constexpr-varies-per-call" in lines
    assert "Recordings: none in this folder" in lines
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80


def test_recordings_of_a_folder_are_named_with_the_command_that_shows_them(
    doctor: Doctor, write: Callable[[str, str], Path]
) -> None:
    write("run.jsonl", RECORDING.read_text(encoding="utf-8"))
    write("other.jsonl", '{"a": 1}\n')

    outcome = doctor()

    assert "Project: none here" in outcome.out
    assert "Recordings: 1 file here, the latest: run.jsonl" in outcome.out
    assert "  triton-doctor report run.jsonl" in outcome.out

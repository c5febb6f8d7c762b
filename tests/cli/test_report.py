"""`triton-doctor report` as a user types it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]
    Write = Callable[..., Path]

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "recordings"
MASK = str(RECORDINGS / "ragged_mask_constexpr.jsonl")


def compiled(outcome: Outcome) -> int:
    return int(json.loads(outcome.out)["totals"]["compiled"])


def test_files_and_folders_are_read_together(doctor: Doctor, folder: Path) -> None:
    shutil.copytree(RECORDINGS, folder / "kept")
    (folder / "kept" / "ragged_mask_constexpr.jsonl").unlink()

    both = compiled(doctor("report", "kept", MASK, "--output-format", "json"))

    assert both == compiled(doctor("report", str(RECORDINGS), "--output-format", "json"))


def test_recordings_one_after_the_other_in_a_file_are_read_apart(doctor: Doctor, write: Write) -> None:
    torn = Path(MASK).read_bytes()[:-20]
    write("all.jsonl", torn + b"\n" + Path(MASK).read_bytes())

    seen = json.loads(doctor("report", "all.jsonl", "--output-format", "json").out)

    assert (len(seen["processes"]), seen["totals"]["compiled"]) == (2, 80)
    assert "torn" in " ".join(seen["totals"]["unseen"])


def test_damaged_parts_are_said_and_cost_no_others(doctor: Doctor, write: Write) -> None:
    lines = Path(MASK).read_text(encoding="utf-8").splitlines()
    write("runs/a.jsonl", "\n".join([*lines[:3], "noise", '{"event":"compile","kernel":7}', *lines[3:]]) + "\n")
    write("runs/b.jsonl", "")

    outcome = doctor("report", "runs", "gone.jsonl", "--output-format", "json")

    assert (outcome.status, compiled(outcome)) == (2, 40)
    assert outcome.err.splitlines() == [
        "triton-doctor: runs/b.jsonl is empty: no recording",
        "hint: name a file that `run -o` wrote",
        "triton-doctor: cannot read gone.jsonl: no such file or directory",
        "hint: name a file that `run -o` wrote",
        "triton-doctor: 2 damaged lines of a.jsonl are left out; the first, line 4, is no event",
    ]


@pytest.mark.parametrize("flags", [pytest.param((), id="report"), pytest.param(("--diff",), id="diff")])
def test_check_with_a_damaged_recording_reports_and_exits_with_2(
    doctor: Doctor, write: Write, flags: tuple[str, ...]
) -> None:
    write("a.py", "import triton\n")
    write("run.jsonl", Path(MASK).read_text(encoding="utf-8") + "noise\n{}\n")

    outcome = doctor("check", ".", "--recording", "run.jsonl", *flags)

    assert outcome.status == 2
    assert "2 damaged lines of run.jsonl are left out; the first, line 46, is no event" in outcome.err


@pytest.mark.parametrize(
    ("since", "count"),
    [pytest.param("0", 40, id="all"), pytest.param("2", 31, id="late"), pytest.param("99", 0, id="none")],
)
def test_since_leaves_out_what_was_before(doctor: Doctor, since: str, count: int) -> None:
    assert compiled(doctor("report", MASK, "--since", since, "--output-format", "json")) == count


def test_since_warmup_is_what_the_run_was_told(doctor: Doctor, write: Write) -> None:
    header, *events = Path(MASK).read_text(encoding="utf-8").splitlines()
    middle = next(json.loads(event)["at_ns"] for event in events if '"max_kv_len_per_req",35]' in event)
    write(
        "run.jsonl", "\n".join([header, json.dumps({"event": "mark", "name": "warmed up", "at_ns": middle}), *events])
    )

    assert compiled(doctor("report", "run.jsonl", "--since", "warmup", "--output-format", "json")) == 22


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["gone.jsonl"], "cannot read gone.jsonl", id="no file"),
        pytest.param(["folder"], "no recording in folder", id="folder without one"),
        pytest.param(["empty.jsonl"], "empty.jsonl is empty", id="empty"),
        pytest.param(["notes.txt"], "notes.txt is no recording, and as a log it names no kernel", id="another file"),
        pytest.param(["newer.jsonl"], "newer.jsonl: the recording has schema 99", id="newer"),
        pytest.param(["headless.jsonl"], "headless.jsonl is not a recording: it has no header", id="no header"),
        pytest.param([MASK, "--since", "soon"], "--since takes warmup or seconds, not 'soon'", id="since"),
        pytest.param([MASK, "--since", "warmup"], "does not say when its warm-up was over", id="no warm-up"),
    ],
)
def test_what_cannot_be_reported_is_two_lines(doctor: Doctor, write: Write, arguments: list[str], message: str) -> None:
    write("folder/notes.txt")
    write("empty.jsonl")
    write("notes.txt", "some words\n")
    write("newer.jsonl", '{"event":"header","schema":99}\n')
    write("headless.jsonl", '{"event":"end","wall_us":1,"at_ns":1}\n')

    outcome = doctor("report", *arguments)

    assert (outcome.status, outcome.out) == (2, "")
    assert message in outcome.err.splitlines()[0]
    assert outcome.err.splitlines()[1].startswith("hint: ")

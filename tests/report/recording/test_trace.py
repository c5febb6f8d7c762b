"""The trace: what Perfetto's JSON format asks for, the recording's counts, and the clock of torch's profiler."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from triton_doctor.report.recording.trace import OURS, render_trace
from triton_doctor.runtime.event import AutotuneEvent, CompileEvent, ModuleEvent
from triton_doctor.runtime.program_event import StepEvent
from triton_doctor.runtime.recording import Recording

FIXTURES = Path(__file__).parents[3] / "fixtures"
RUNS = sorted((FIXTURES / "runs").glob("*.jsonl"))
# The times of nested slices are rounded to nanoseconds, of microseconds.
ROUNDED_US = 0.002


def ranks() -> list[Recording]:
    recorded = Recording.read_each(FIXTURES / "runs" / "two_ranks.jsonl")
    return [one for one in recorded if one.headers[0].rank is not None]


def trace(*recordings: Recording) -> list[dict[str, Any]]:
    document = json.loads(render_trace(recordings))
    assert isinstance(document["baseTimeNanoseconds"], int)
    events: list[dict[str, Any]] = document["traceEvents"]
    return events


def kinds(recording: Recording) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for event in recording.events:
        match event:
            case CompileEvent():
                kinds["compile" if event.tier == "compiled" else "load"] += 1
                kinds["stage"] += len(event.stages_us)
                kinds["process"] += event.process_us > 0
            case AutotuneEvent():
                kinds["autotune"] += 1
            case ModuleEvent():
                kinds["module"] += 1
                kinds["launcher"] += event.launcher_us > 0
    return +kinds


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_each_event_is_one_slice_and_slices_of_a_track_nest(path: Path) -> None:
    recordings = Recording.read_each(path)
    events = trace(*recordings)

    slices = [event for event in events if event["ph"] == "X"]
    assert Counter(event["cat"] for event in slices) == sum((kinds(one) for one in recordings), Counter())
    for event in events:
        assert isinstance(event["name"], str)
        assert {"pid", "tid", "ts"} <= event.keys()
        assert event["ph"] in {"X", "M", "C", "i", "b", "e"}
        assert event["ts"] >= 0
        assert event.get("dur", 0) >= 0
    tracks = defaultdict(list)
    for event in slices:
        tracks[event["pid"], event["tid"]].append((event["ts"], -event["dur"]))
    for track in tracks.values():
        open_until: list[float] = []
        for begin, negative in sorted(track):
            end = begin - negative
            while open_until and open_until[-1] <= begin + ROUNDED_US:
                open_until.pop()
            assert not open_until or end <= open_until[-1] + ROUNDED_US
            open_until.append(end)


def test_launches_are_a_counter_and_ranks_are_processes() -> None:
    events = trace(*Recording.read_each(FIXTURES / "runs" / "two_ranks.jsonl"))

    counts = {(event["pid"], event["args"]["launches"]) for event in events if event["ph"] == "C"}
    names = {event["pid"]: event["args"]["name"][:6] for event in events if event["name"] == "process_name"}
    assert counts == {(2462, 0), (2462, 20), (2463, 0), (2463, 20)}
    assert names == {2462: "rank 0", 2463: "rank 1"}


def test_processes_of_two_hosts_with_one_id_are_two() -> None:
    first, second = ranks()
    same = Recording(headers=[replace(second.headers[0], pid=first.headers[0].pid)], events=second.events)

    assert len({event["pid"] for event in trace(first, same)}) == 2


def test_requests_that_overlap_on_a_thread_are_asynchronous_slices() -> None:
    one, _ = ranks()
    begin = one.headers[0].started_at_ns
    asked = [
        StepEvent(
            kind="request", name=name, started_at_ns=begin + first, at_ns=begin + first + 900, thread=7, rank=None
        )
        for name, first in (("a", 0), ("b", 500))
    ]
    events = trace(Recording(headers=one.headers, events=[*asked]))

    shown = [(event["ph"], event["id"].split()[0]) for event in events if event.get("cat") == "request"]
    assert shown == [("b", "a"), ("e", "a"), ("b", "b"), ("e", "b")]


def test_arguments_that_json_has_no_number_for_are_text() -> None:
    one, _ = ranks()
    compiled = one.compiles[0]
    odd = replace(compiled, values=(("scale", float("nan")), ("\x1b[31m", float("inf"))))
    (seen,) = (event for event in trace(replace(one, events=[odd])) if event.get("cat") == "compile")

    assert seen["args"]["values"] == {"scale": "nan", "\\x1b[31m": "inf"}


def test_torchs_profiler_counts_from_the_same_moment_on_the_same_clock(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="compares with torch's profiler")
    path = tmp_path / "torch.json"
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=cpu) as profile, torch.profiler.record_function("around"):
        moment_ns = time.time_ns()
        torch.ones(3)
    profile.export_chrome_trace(str(path))
    theirs = json.loads(path.read_text())
    one, _ = ranks()
    began = replace(one.headers[0], started_at_ns=moment_ns)
    compiled = replace(one.compiles[0], at_ns=moment_ns, stages_us=(), process_us=0)

    ours = json.loads(render_trace([Recording(headers=[began], events=[compiled])]))
    (around,) = (event for event in theirs["traceEvents"] if event.get("name") == "around")
    (seen,) = (event for event in ours["traceEvents"] if event.get("cat") == "compile")
    assert ours["baseTimeNanoseconds"] == theirs["baseTimeNanoseconds"]
    assert around["ts"] <= seen["ts"] <= around["ts"] + around["dur"]
    assert seen["tid"] == OURS + compiled.thread

"""Recordings as a trace that Perfetto and chrome://tracing open, on the clock and the processes of torch's profiler.

The form is the JSON object of the Trace Event Format, of which this writes complete slices (`X`), counters (`C`) and
metadata (`M`); times are microseconds, with a fraction, since `baseTimeNanoseconds` of Unix time. torch's profiler
counts from the same moment (the last multiple of a quarter of a year), so that the `traceEvents` of both make one
list.

A process has the id that the system gave it, as in torch's trace; where processes of two hosts have the same, the later
gets one of its own. A thread has a track of its own beside torch's: slices of one track must nest, and those that two
programs timed do not.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from triton_doctor.rulebook import rule_name
from triton_doctor.runtime.cause_wording import describe_recompile
from triton_doctor.runtime.event import (
    COMPILED,
    AutotuneEvent,
    CompileEvent,
    Event,
    FailureEvent,
    LaunchesEvent,
    ModuleEvent,
    WarningEvent,
)
from triton_doctor.runtime.program_event import GraphEvent, MarkEvent, StepEvent
from triton_doctor.terminal import escape_line
from triton_doctor.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.event import Header, KernelName, LaunchSite
    from triton_doctor.runtime.recording import Recording

Fields = dict[str, Any]

# From when torch's profiler counts: its traces have the last multiple of this as `baseTimeNanoseconds` (torch 2.13).
QUARTER_NS = 7_889_238 * 10**9
# Beyond the ids that Linux gives (at most 2**22), so that a track of ours is never one of torch's.
OURS = 1 << 23
STEP_TRACK, GRAPH_TRACK = OURS - 2, OURS - 1


def render_trace(recordings: Sequence[Recording]) -> str:
    """Render the recordings as a JSON object, with one event on each line."""
    begins = [header.started_at_ns for recording in recordings for header in recording.headers]
    base_ns = min(begins, default=0) // QUARTER_NS * QUARTER_NS
    taken: set[int] = set()
    lines = []
    for recording in recordings:
        header = recording.headers[0]
        if "triton" not in dict(header.versions):
            continue  # what `run` saw from outside
        pid = header.pid if header.pid not in taken else OURS + len(taken)
        taken.add(pid)
        events = _process(recording, header, pid, base_ns)
        lines += [json.dumps(event, separators=(",", ":"), allow_nan=False) for event in events]
    document = {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base_ns,
        "otherData": {"tool": f"triton-doctor {__version__}"},
    }
    opening = json.dumps(document)[:-1]
    return f'{opening}, "traceEvents": [\n' + ",\n".join(lines) + "\n]}\n"


def _process(recording: Recording, header: Header, pid: int, base_ns: int) -> Iterator[Fields]:
    name = f"process {header.pid}" if header.rank is None else f"rank {header.rank}"
    began_us = (header.started_at_ns - base_ns) // 1000

    def describe(kind: str, tid: int, **arguments: object) -> Fields:
        return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": began_us, "args": arguments}

    yield describe("process_name", 0, name=f"{name}: {escape_line(' '.join(header.command))[:120]}")
    yield describe("process_sort_index", 0, sort_index=header.pid if header.rank is None else header.rank)
    causes = {id(cause.event): cause for cause in recording.causes}
    tracks: set[int] = set()
    for event in recording.events:
        for fields in _slices(event, causes.get(id(event))):
            tracks.add(fields["tid"])
            yield fields | {"ts": round((fields["ts"] - base_ns) / 1000, 3), "pid": pid}
        if isinstance(event, LaunchesEvent):
            yield from _counters(event, header, pid, base_ns)
    for tid in sorted(tracks):
        named = {STEP_TRACK: "steps and requests", GRAPH_TRACK: "torch.compile", OURS: "notes"}
        yield describe("thread_name", tid, name=named.get(tid, f"triton on thread {tid - OURS}"))
        yield describe("thread_sort_index", tid, sort_index=tid)


def _slice(name: str, category: str, thread: int, begin_ns: int, took_us: float, arguments: Fields) -> Fields:
    """Build a slice on our own track for `thread`. `ts` is Unix time in nanoseconds; `_process` makes it relative."""
    shown = {key: value for key, value in arguments.items() if value not in (None, "", (), {})}
    return {
        "ph": "X",
        "cat": category,
        "name": escape_line(name),
        "tid": OURS + thread,
        "ts": begin_ns,
        "dur": took_us,
        "args": _plain(shown),
    }


def _plain(value: Any) -> Any:
    """Replace numbers that JSON cannot express by text, and escape terminal control characters."""
    match value:
        case dict():
            return {escape_line(str(key)): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case float() if value != value or value in (float("inf"), float("-inf")):
            return repr(value)
        case str():
            return escape_line(value)
        case _:
            return value


def _slices(event: Event, cause: Recompile | None) -> Iterator[Fields]:
    match event:
        case CompileEvent():
            yield from _compile(event, cause)
        case AutotuneEvent(duration_us=int(took_us)):
            yield _slice(
                f"tune {event.kernel.name}",
                "autotune",
                event.thread,
                event.at_ns - took_us * 1000,
                took_us,
                _place(event.kernel, event.launch_site)
                | {
                    "key": dict(event.key),
                    "best": event.best,
                    "configs_ms": dict(event.timings_ms),
                    "trials": event.trials,
                    "cause": None if cause is None else _describe_cause(cause),
                },
            )
        case AutotuneEvent():
            yield _instant(f"tuning of {event.kernel.name} from the cache: {event.best}", event.thread, event.at_ns)
        case ModuleEvent():
            yield from _module(event)
        case FailureEvent():
            arguments = _place(event.kernel, event.launch_site) | {"stage": event.stage, "error": event.error}
            begin_ns = event.at_ns - event.duration_us * 1000
            yield _slice(f"failed {event.kernel.name}", "failure", event.thread, begin_ns, event.duration_us, arguments)
        case GraphEvent():
            begin_ns = event.at_ns - event.duration_us * 1000
            arguments = {"compile_id": event.compile_id, "reason": event.reason, "failure": event.failure}
            arguments["path"], arguments["line"] = event.path, event.line
            yield _slice(
                f"torch.compile {event.function}", "graph", GRAPH_TRACK - OURS, begin_ns, event.duration_us, arguments
            )
        case StepEvent():
            yield from _step(event)
        case MarkEvent():
            yield _instant(event.name, 0, event.at_ns)
        case WarningEvent():
            yield _instant(event.message, 0, event.at_ns)
        case _:
            return


def _compile(event: CompileEvent, cause: Recompile | None) -> Iterator[Fields]:
    """Yield slices for a compile or a load and its stages, and one for the start-up cost of the process before it."""
    began_ns = event.at_ns - event.duration_us * 1000
    what, category = ("compile", "compile") if event.tier == COMPILED else ("load", "load")
    arguments = _place(event.kernel, event.launch_site) | {
        "cause": None if cause is None else _describe_cause(cause),
        "constants": dict(event.key.constants),
        "values": dict(event.values),
        "target": event.key.target,
        "device": event.device,
        "tuning": event.tuning or None,
        "capturing": event.capturing or None,
        "maker": event.maker,
    }
    if event.process_us:
        begin_ns = began_ns - event.process_us * 1000
        yield _slice("first compile of the process", "process", event.thread, begin_ns, event.process_us, {})
    yield _slice(f"{what} {event.kernel.name}", category, event.thread, began_ns, event.duration_us, arguments)
    at_ns = began_ns
    for stage, took_us in event.stages_us:
        yield _slice(stage, "stage", event.thread, at_ns, took_us, {})
        at_ns += took_us * 1000


def _module(event: ModuleEvent) -> Iterator[Fields]:
    loaded_ns = event.at_ns - event.module_us * 1000
    arguments = _place(event.kernel, None)
    if event.launcher_us:
        begin_ns = loaded_ns - event.launcher_us * 1000
        yield _slice("build launcher", "launcher", event.thread, begin_ns, event.launcher_us, arguments)
    yield _slice("load module", "module", event.thread, loaded_ns, event.module_us, arguments)


def _step(event: StepEvent) -> Iterator[Fields]:
    """Yield a slice for a step; a begin and an end event for a request, which may overlap others on its thread."""
    arguments = {"compiles": len(event.compiles_ns), "stands_for": event.count if event.count > 1 else None}
    if event.kind == "step":
        took_us = (event.at_ns - event.started_at_ns) / 1000
        yield _slice(f"step {event.number}", "step", STEP_TRACK - OURS, event.started_at_ns, took_us, arguments)
        return
    shared = {"cat": "request", "name": "request", "id": f"{event.name} {event.started_at_ns}", "tid": STEP_TRACK}
    named = _plain({"request": event.name, **arguments})
    yield {"ph": "b", **_plain(shared), "ts": event.started_at_ns, "args": named}
    yield {"ph": "e", **_plain(shared), "ts": event.at_ns}


def _instant(name: str, thread: int, at_ns: int) -> Fields:
    scope = "t" if thread else "p"
    return {"ph": "i", "cat": "note", "name": escape_line(name), "tid": OURS + thread, "ts": at_ns, "s": scope}


def _counters(event: LaunchesEvent, header: Header, pid: int, base_ns: int) -> Iterator[Fields]:
    """Yield launches as a counter for each kernel: 0 when the process starts, the total at the last count."""
    for kernel, count in event.launches:
        for at_ns, launches in ((header.started_at_ns, 0), (event.at_ns, count)):
            at_us = round((at_ns - base_ns) / 1000, 3)
            name = f"launches of {escape_line(kernel.name)}"
            yield {"ph": "C", "name": name, "pid": pid, "tid": 0, "ts": at_us, "args": {"launches": launches}}


def _place(kernel: KernelName, site: LaunchSite | None) -> Fields:
    launched = None if site is None else f"{site.path}:{site.line} in {site.function}"
    return {"kernel": f"{kernel.path}:{kernel.line}", "launched_at": launched}


def _describe_cause(cause: Recompile) -> str:
    return f"{cause.code} {rule_name(cause.code)}: {describe_recompile(cause)}"

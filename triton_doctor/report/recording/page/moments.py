"""Recordings to the data of the timeline: one lane a thread, and on it what happened when, and why.

Numbers and indices into one list of texts, and each beginning as its distance from the one before, keep 10,000 events
within half a megabyte.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from triton_doctor.report.recording.wording import LONGEST_VALUE, show_value
from triton_doctor.rulebook import rule_name
from triton_doctor.runtime.event import AutotuneEvent, CompileEvent, Event, FailureEvent
from triton_doctor.runtime.program_event import GraphEvent
from triton_doctor.runtime.timeline import Part, read_intervals, span_ns
from triton_doctor.terminal import escape_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.recording import Recording

KINDS = {
    Part.COMPILING: "compiling",
    Part.LOADING: "loading from disk",
    Part.LAUNCHER: "building a launcher",
    Part.MODULE: "loading a module",
    Part.FAILING: "a compile that failed",
    Part.TUNING: "tuning",
    Part.FIRST: "first of a process",
}
GRAPH = len(KINDS)
NAMES = {**{int(part): name for part, name in KINDS.items()}, GRAPH: "torch.compile"}
# About 50 bytes each; beyond them the shortest are left out, and that is said.
MOMENTS_SHOWN = 12_000
LANES_SHOWN = 64
CHANGES_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One interval on a lane. `kernel`, `site`, `code` and `note` are texts; times are microseconds."""

    begin_us: int
    duration_us: int
    kind: int
    kernel: str = ""
    site: str = ""
    code: str = ""
    note: str = ""


@dataclass(slots=True)
class Texts:
    """Each text once."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        """The index of `text`, which is added if it is new."""
        return self.numbers.setdefault(escape_text(text), len(self.numbers))


def collect_moments(recordings: Sequence[Recording]) -> dict[str, Any]:
    """What `page.js` draws. `left_out` counts moments and lanes that it does not have."""
    start_ns, end_ns = span_ns([header for one in recordings for header in one.headers], recordings)
    lanes = sorted(_lanes(recordings, start_ns // 1000), key=lambda lane: -sum(one.duration_us for one in lane[2]))
    shown = sorted(lanes[:LANES_SHOWN], key=lambda lane: lane[:2])
    every = [moment for _, _, moments in shown for moment in moments]
    shortest = sorted((one.duration_us for one in every), reverse=True)[:MOMENTS_SHOWN][-1:]
    least_us = shortest[0] if len(every) > MOMENTS_SHOWN else 0
    texts = Texts()
    texts.number("")
    kept = [(process, thread, [one for one in moments if one.duration_us >= least_us]) for process, thread, moments in shown]
    return {
        "wall_us": max(1, (end_ns - start_ns) // 1000),
        "kinds": NAMES,
        "lanes": [
            {"process": escape_text(process), "thread": thread, "moments": list(_pack(moments, texts))}
            for process, thread, moments in kept
        ],
        "texts": list(texts.numbers),
        "left_out": {
            "lanes": len(lanes) - len(shown),
            "moments": len(every) - sum(len(moments) for _, _, moments in kept),
            "shorter_than_us": least_us,
        },
    }


def _lanes(recordings: Sequence[Recording], start_us: int) -> Iterator[tuple[str, int, list[Moment]]]:
    for recording in recordings:
        header = recording.headers[0]
        process = f"process {header.pid}" if header.rank is None else f"rank {header.rank}"
        causes = {id(cause.event): cause for cause in recording.causes}
        by_thread: dict[int, list[Moment]] = {}
        for event in recording.events:
            moments = by_thread.setdefault(getattr(event, "thread", 0), [])
            moments += _moments_of(event, causes.get(id(event)), start_us)
        for thread, moments in by_thread.items():
            if moments:
                yield process, thread, sorted(moments, key=lambda one: (one.begin_us, -one.duration_us))


def _moments_of(event: Event, cause: Recompile | None, start_us: int) -> Iterator[Moment]:
    if isinstance(event, GraphEvent):
        begin_us = event.at_ns // 1000 - event.duration_us - start_us
        note = event.reason or event.failure
        yield Moment(begin_us=begin_us, duration_us=event.duration_us, kind=GRAPH, kernel=event.function, note=note)
    for part, (begin_us, end_us) in read_intervals(event):
        if begin_us == end_us:
            continue
        site = getattr(event, "launch_site", None)
        again = part in (Part.COMPILING, Part.LOADING, Part.TUNING)
        yield Moment(
            begin_us=begin_us - start_us,
            duration_us=end_us - begin_us,
            kind=int(part),
            kernel=event.kernel.name if hasattr(event, "kernel") and event.kernel is not None else "",
            site="" if site is None else f"{site.path}:{site.line}",
            code=f"{cause.code} {rule_name(cause.code)}" if cause is not None and again else "",
            note=_note(event, cause) if again or part is Part.FAILING else "",
        )


def _note(event: Event, cause: Recompile | None) -> str:
    """What changed, or what went wrong, in few words."""
    match event:
        case FailureEvent():
            return event.error
        case AutotuneEvent() if cause is None or not cause.changes:
            return f"best of {len(event.timings_ms)}: {event.best}"
        case CompileEvent() | AutotuneEvent() if cause is not None:
            changes = [change for change in cause.changes if change.code == cause.code][:CHANGES_SHOWN]
            shown = [f"{change.name} {_short(change.after)}, was {_short(change.before)}" for change in changes]
            return "; ".join(shown)
        case _:
            return ""


def _short(value: object) -> str:
    text = show_value(value) if value is None or isinstance(value, bool | int | float | str) else repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def _pack(moments: Iterable[Moment], texts: Texts) -> Iterator[list[int]]:
    before = 0
    for one in moments:
        packed = [one.begin_us - before, one.duration_us, one.kind]
        described = [texts.number(text) for text in (one.kernel, one.site, one.code, one.note)]
        while described and described[-1] == 0:
            described.pop()
        before = one.begin_us
        yield packed + described

"""Recordings to the data of the timeline: one lane a thread, and on it what happened when, and why.

Numbers and indices into one list of texts, and each beginning as its distance from the one before, keep 10,000 events
within half a megabyte.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from triton_doctor.report.recording.wording import LONGEST_VALUE, show_value
from triton_doctor.rulebook import rule_name
from triton_doctor.runtime.event import AutotuneEvent, Event, FailureEvent, Scalar
from triton_doctor.runtime.program_event import GraphEvent, StepEvent
from triton_doctor.runtime.timeline import Part, read_intervals, span_ns
from triton_doctor.terminal import escape_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.recording import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How the page draws a kind of moment: in which color of `page.css`, and on which of what it happened in."""

    name: str
    color: str
    depth: int


# By number: a Part is its own, and two more follow.
KINDS = {
    Part.FIRST: Kind(name="first of a process", color="--part-6", depth=2),
    Part.COMPILING: Kind(name="compiling", color="--part-0", depth=2),
    Part.LOADING: Kind(name="loading from disk", color="--part-1", depth=2),
    Part.LAUNCHER: Kind(name="building a launcher", color="--part-2", depth=2),
    Part.MODULE: Kind(name="loading a module", color="--part-3", depth=2),
    Part.FAILING: Kind(name="a compile that failed", color="--part-4", depth=2),
    Part.TUNING: Kind(name="tuning", color="--part-5", depth=1),
}
GRAPH, STEP = len(KINDS), len(KINDS) + 1
EVERY_KIND = (
    *(KINDS[part] for part in Part),
    Kind(name="torch.compile", color="--graph", depth=0),
    Kind(name="a step or request that compiled", color="--step", depth=0),
)
# About 50 bytes each; beyond them the shortest are left out, and that is said.
MOMENTS_SHOWN = 12_000
LANES_SHOWN = 64
CHANGES_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One interval on a lane, in microseconds. `changes` are (name, after, before) of what made it compile again."""

    begin_us: int
    duration_us: int
    kind: int
    kernel: str = ""
    site: str = ""
    code: str = ""
    note: str = ""
    changes: tuple[tuple[str, str, str], ...] = ()


@dataclass(slots=True)
class Texts:
    """Each text once."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        """The index of `text`, which is added if it is new."""
        return self.numbers.setdefault(escape_line(text), len(self.numbers))


def collect_moments(recordings: Sequence[Recording]) -> dict[str, Any]:
    """What `page.js` draws. `left_out` counts moments and lanes that it does not have."""
    start_ns, end_ns = span_ns([header for one in recordings for header in one.headers], recordings)
    lanes = list(_lanes(recordings, start_ns // 1000))
    longest = sorted(lanes, key=lambda lane: -sum(one.duration_us for one in lane[2]))[:LANES_SHOWN]
    every = sorted((one for lane in longest for one in lane[2]), key=lambda one: -one.duration_us)
    drawn = {id(one) for one in every[:MOMENTS_SHOWN]}
    texts = Texts()
    texts.number("")
    kept = [
        (process, thread, [one for one in moments if id(one) in drawn])
        for process, thread, moments in lanes
        if any(id(one) in drawn for one in moments)
    ]
    return {
        "wall_us": max(1, (end_ns - start_ns) // 1000),
        "kinds": [asdict(kind) for kind in EVERY_KIND],
        "lanes": [
            {"process": escape_line(process), "thread": thread, "moments": list(_pack(moments, texts))}
            for process, thread, moments in kept
        ],
        "texts": list(texts.numbers),
        "left_out": {
            "lanes": len(lanes) - len(longest),
            "moments": len(every) - len(drawn),
            "at_most_us": every[MOMENTS_SHOWN].duration_us if len(every) > MOMENTS_SHOWN else 0,
        },
    }


def _lanes(recordings: Sequence[Recording], start_us: int) -> Iterator[tuple[str, int, list[Moment]]]:
    """Process, thread and its moments: ranks by their number, and the thread that a process began with first."""
    recordings = sorted(recordings, key=lambda one: (one.headers[0].rank or 0, one.headers[0].started_at_ns))
    for recording in recordings:
        header = recording.headers[0]
        process = f"process {header.pid}" if header.rank is None else f"rank {header.rank}"
        causes = {id(cause.event): cause for cause in recording.causes}
        by_thread: dict[int, list[Moment]] = {}
        for event in recording.events:
            moments = by_thread.setdefault(getattr(event, "thread", 0), [])
            moments += _moments_of(event, causes.get(id(event)), start_us)
        for thread, moments in sorted(by_thread.items()):
            if moments:
                yield process, thread, sorted(moments, key=lambda one: (one.begin_us, -one.duration_us))


def _moments_of(event: Event, cause: Recompile | None, start_us: int) -> Iterator[Moment]:
    if isinstance(event, GraphEvent):
        begin_us = event.at_ns // 1000 - event.duration_us - start_us
        note = event.reason or event.failure
        yield Moment(begin_us=begin_us, duration_us=event.duration_us, kind=GRAPH, kernel=event.function, note=note)
    if isinstance(event, StepEvent) and event.compiles_ns:
        begin_ns, took_us = event.started_at_ns, (event.at_ns - event.started_at_ns) // 1000
        name = f"{event.kind} {event.name if event.number is None else event.number}"
        yield Moment(begin_us=begin_ns // 1000 - start_us, duration_us=took_us, kind=STEP, kernel=name)
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
            changes=tuple(_changes(cause)) if cause is not None and again else (),
        )


def _note(event: Event, cause: Recompile | None) -> str:
    """What went wrong, or won."""
    match event:
        case FailureEvent():
            return event.error
        case AutotuneEvent() if cause is None or not cause.changes:
            return f"best of {len(event.timings_ms)}: {event.best}"
        case _:
            return ""


def _changes(cause: Recompile) -> Iterator[tuple[str, str, str]]:
    for change in [change for change in cause.changes if change.code == cause.code][:CHANGES_SHOWN]:
        yield change.name, _short(change.after), _short(change.before)


def _short(value: Scalar) -> str:
    text = show_value(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def _pack(moments: Iterable[Moment], texts: Texts) -> Iterator[list[int]]:
    """Beginning, duration and kind; then, as far as there are any, kernel, site, code, note, and three for a change."""
    before = 0
    for one in moments:
        described = [one.kernel, one.site, one.code, one.note, *(text for change in one.changes for text in change)]
        while described and not described[-1]:
            described.pop()
        yield [one.begin_us - before, one.duration_us, one.kind, *map(texts.number, described)]
        before = one.begin_us

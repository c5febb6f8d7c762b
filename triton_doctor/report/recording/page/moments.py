"""Recordings to the data of the timeline: what happened when, in which thread, and why.

The thread that a process began with has a lane. All others share as few as their events need without overlapping, so
that a server with a thread for each request has one lane for them.

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
    thread: int = 0

    @property
    def end_us(self) -> int:
        """Return when it ended."""
        return self.begin_us + self.duration_us


@dataclass(slots=True)
class Texts:
    """Each text once."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        """Return the index of `text`; a new text is added."""
        return self.numbers.setdefault(escape_line(text), len(self.numbers))


def collect_moments(recordings: Sequence[Recording]) -> dict[str, Any]:
    """Return what `page.js` draws. `left_out` counts moments and lanes that it does not have."""
    start_ns, end_ns = span_ns([header for recording in recordings for header in recording.headers], recordings)
    lanes = list(_lanes(recordings, start_ns // 1000))
    longest = sorted(lanes, key=lambda lane: -sum(moment.duration_us for moment in lane[1]))[:LANES_SHOWN]
    every = sorted((moment for _, moments in longest for moment in moments), key=lambda moment: -moment.duration_us)
    drawn = {id(moment) for moment in every[:MOMENTS_SHOWN]}
    texts = Texts()
    texts.number("")
    kept = [(process, [moment for moment in moments if id(moment) in drawn]) for process, moments in lanes]
    return {
        "wall_us": max(1, (end_ns - start_ns) // 1000),
        "kinds": [asdict(kind) for kind in EVERY_KIND],
        "lanes": [_pack_lane(process, moments, texts) for process, moments in kept if moments],
        "texts": list(texts.numbers),
        "left_out": {
            "lanes": len(lanes) - len(longest),
            "moments": len(every) - len(drawn),
            "at_most_us": every[MOMENTS_SHOWN].duration_us if len(every) > MOMENTS_SHOWN else 0,
        },
    }


def _lanes(recordings: Sequence[Recording], start_us: int) -> Iterator[tuple[str, list[Moment]]]:
    """Yield a process and the moments of a lane: ranks by number, in each the thread that it began with first."""
    by_rank = sorted(
        recordings, key=lambda recording: (recording.headers[0].rank or 0, recording.headers[0].started_at_ns)
    )
    for recording in by_rank:
        header = recording.headers[0]
        process = f"process {header.pid}" if header.rank is None else f"rank {header.rank}"
        causes = {id(cause.event): cause for cause in recording.causes}
        by_thread: dict[int, list[Moment]] = {}
        for event in recording.events:
            moments = by_thread.setdefault(getattr(event, "thread", 0), [])
            moments += _moments_of(event, causes.get(id(event)), start_us)
        threads = {thread: _in_order(moments) for thread, moments in sorted(by_thread.items()) if moments}
        first = header.pid if header.pid in threads else next(iter(threads), None)
        if first is not None:
            yield process, threads.pop(first)
        for lane in _share_lanes(threads.values()):
            yield process, _in_order(lane)


def _in_order(moments: Iterable[Moment]) -> list[Moment]:
    return sorted(moments, key=lambda moment: (moment.begin_us, -moment.duration_us))


def _share_lanes(threads: Iterable[Sequence[Moment]]) -> list[list[Moment]]:
    """Return the moments of `threads` on as few lanes as they need without overlapping."""
    groups: list[list[Moment]] = []
    for moments in threads:
        end_us = None
        for moment in moments:
            if end_us is None or moment.begin_us >= end_us:
                groups.append([])
            groups[-1].append(moment)
            end_us = max(end_us or 0, moment.end_us)
    lanes: list[list[Moment]] = []
    ends_us: list[int] = []
    for group in sorted(groups, key=lambda group: group[0].begin_us):
        number = next((number for number, end_us in enumerate(ends_us) if end_us <= group[0].begin_us), len(lanes))
        if number == len(lanes):
            lanes.append([])
            ends_us.append(0)
        lanes[number] += group
        ends_us[number] = max(moment.end_us for moment in group)
    return lanes


def _moments_of(event: Event, cause: Recompile | None, start_us: int) -> Iterator[Moment]:
    thread = getattr(event, "thread", 0)
    if isinstance(event, GraphEvent):
        begin_us = event.at_ns // 1000 - event.duration_us - start_us
        note = event.reason or event.failure
        yield Moment(
            begin_us=begin_us,
            duration_us=event.duration_us,
            kind=GRAPH,
            kernel=event.function,
            note=note,
            thread=thread,
        )
    if isinstance(event, StepEvent) and event.compiles_ns:
        begin_ns, took_us = event.started_at_ns, (event.at_ns - event.started_at_ns) // 1000
        name = f"{event.kind} {event.name if event.number is None else event.number}"
        yield Moment(begin_us=begin_ns // 1000 - start_us, duration_us=took_us, kind=STEP, kernel=name, thread=thread)
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
            thread=thread,
        )


def _note(event: Event, cause: Recompile | None) -> str:
    """Return the error of a failed compile, or the config that won."""
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


def _pack_lane(process: str, moments: Sequence[Moment], texts: Texts) -> dict[str, Any]:
    """Return a lane as JSON. `owners` has an index into `threads` for each moment where a lane has several threads."""
    threads = list(dict.fromkeys(moment.thread for moment in moments))
    owners = [threads.index(moment.thread) for moment in moments] if len(threads) > 1 else []
    packed = list(_pack(moments, texts))
    return {"process": escape_line(process), "threads": threads, "owners": owners, "moments": packed}


def _pack(moments: Iterable[Moment], texts: Texts) -> Iterator[list[int]]:
    """Yield beginning, duration and kind; then, where known, kernel, site, code, note, and three texts for a change."""
    before = 0
    for moment in moments:
        changes = (text for change in moment.changes for text in change)
        described = [moment.kernel, moment.site, moment.code, moment.note, *changes]
        while described and not described[-1]:
            described.pop()
        yield [moment.begin_us - before, moment.duration_us, moment.kind, *map(texts.number, described)]
        before = moment.begin_us

"""Where the wall time of a process went, in parts that add up however many threads compile at once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from triton_doctor.runtime.event import (
    COMPILED,
    AutotuneEvent,
    CompileEvent,
    EndEvent,
    FailureEvent,
    InterpretedEvent,
    ModuleEvent,
)
from triton_doctor.runtime.program_event import ProgramEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from triton_doctor.runtime.event import Event, Header
    from triton_doctor.runtime.recording import Recording

Interval = tuple[int, int]


class Part(IntEnum):
    """The kinds of work that a process spends time on. Overlapping work counts as the first of them."""

    FIRST = 0
    COMPILING = 1
    LOADING = 2
    LAUNCHER = 3
    MODULE = 4
    FAILING = 5
    TUNING = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Parts of `wall_us`. A moment that belongs to several counts for the first: tuning is what is left of a round.

    `first_process_us` is what only the first compile of a process pays, `launcher_us` the building of launchers,
    `module_us` the loading of modules, `failed_us` compiles that failed, `interpret_us` what ran in interpreter mode.
    `other_us` is everything else.
    """

    first_process_us: int
    compile_us: int
    load_us: int
    launcher_us: int
    module_us: int
    failed_us: int
    autotune_us: int
    interpret_us: int
    other_us: int
    wall_us: int


def read_intervals(event: Event) -> Iterator[tuple[Part, Interval]]:
    """Yield the intervals of `event` in microseconds of Unix time; none for events without a duration."""
    end = event.at_ns // 1000
    match event:
        case CompileEvent():
            begin = end - event.duration_us
            yield Part.FIRST, (begin - event.process_us, begin)
            yield Part.COMPILING if event.tier == COMPILED else Part.LOADING, (begin, end)
        case FailureEvent():
            begin = end - event.duration_us
            yield Part.FIRST, (begin - event.process_us, begin)
            yield Part.FAILING, (begin, end)
        case ModuleEvent():
            begin = end - event.module_us
            yield Part.LAUNCHER, (begin - event.launcher_us, begin)
            yield Part.MODULE, (begin, end)
        case AutotuneEvent(duration_us=int(took)):
            yield Part.TUNING, (end - took, end)
        case _:
            return


def share_time(recordings: Sequence[Recording]) -> Mapping[tuple[int, Part], float]:
    """Return how many microseconds of the wall time each event accounts for, by its `id` and part.

    Time in which several threads or processes compile is divided equally, so that the shares add up to the wall
    time.
    """
    bounds: list[tuple[int, bool, int, Part, int]] = []
    for number, recording in enumerate(recordings):
        for event in recording.events:
            for part, (begin, end) in read_intervals(event):
                if begin < end:
                    bounds.append((begin, True, number, part, id(event)))
                    bounds.append((end, False, number, part, id(event)))
    shares: defaultdict[tuple[int, Part], float] = defaultdict(float)
    active: defaultdict[int, set[tuple[Part, int]]] = defaultdict(set)
    # The wall time of one busy process, had all shared it equally so far: the same for each, so that an event of one
    # process costs nothing for the others. `credited` is how much of it each has given to its events.
    clock, credited = 0.0, [0.0] * len(recordings)
    before, busy = 0, 0
    for moment, begins, number, part, ident in sorted(bounds):
        if busy:
            clock += (moment - before) / busy
        before = moment
        going = active[number]
        if going:
            first = min(going)[0]
            sharing = [share for share in going if share[0] is first]
            for _, sharer in sharing:
                shares[sharer, first] += (clock - credited[number]) / len(sharing)
        credited[number] = clock
        was_busy = bool(going)
        if begins:
            going.add((part, ident))
        else:
            going.discard((part, ident))
        busy += bool(going) - was_busy
    return shares


def split_time(recording: Recording, wall_us: int | None) -> Split:
    """Split the wall time of one process into parts; `wall_us` overrides the recorded wall time."""
    by_part: defaultdict[Part, list[Interval]] = defaultdict(list)
    for event in recording.events:
        for part, interval in read_intervals(event):
            by_part[part].append(interval)
    covered: list[Interval] = []
    parts: dict[Part, int] = {}
    for part in Part:
        before = length(covered)
        covered = union([*covered, *by_part[part]])
        parts[part] = length(covered) - before
    if wall_us is None:
        start_ns, end_ns = span_ns(recording.headers, [recording])
        wall_us = (end_ns - start_ns) // 1000
    seen_us = sum(parts.values())
    interpreted_us = sum(event.took_us for event in recording.events if isinstance(event, InterpretedEvent))
    # Threads may interpret at once; what they take together is not more than there is.
    interpreted_us = min(interpreted_us, max(0, wall_us - seen_us))
    return Split(
        first_process_us=parts[Part.FIRST],
        compile_us=parts[Part.COMPILING],
        load_us=parts[Part.LOADING],
        launcher_us=parts[Part.LAUNCHER],
        module_us=parts[Part.MODULE],
        failed_us=parts[Part.FAILING],
        autotune_us=parts[Part.TUNING],
        interpret_us=interpreted_us,
        other_us=max(0, wall_us - seen_us - interpreted_us),
        wall_us=wall_us,
    )


def span_ns(headers: Iterable[Header], recordings: Sequence[Recording]) -> tuple[int, int]:
    """Return the earliest start in `headers` and the last event time in `recordings`, in Unix time."""
    starts = [header.started_at_ns for header in headers]
    start = min(starts, default=0)
    ends = [event.at_ns for recording in recordings for event in recording.events if _happened(event)]
    return start, max([start, *ends])


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Merge overlapping and adjacent intervals, sorted by time."""
    joined: list[Interval] = []
    for begin, end in sorted(intervals):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def length(intervals: Iterable[Interval]) -> int:
    """Return the total length of `intervals`."""
    return sum(end - begin for begin, end in intervals)


def _happened(event: object) -> bool:
    # The mark of a warm-up may lie after the end.
    return isinstance(event, CompileEvent | AutotuneEvent | EndEvent | ProgramEvent) or hasattr(event, "launches")

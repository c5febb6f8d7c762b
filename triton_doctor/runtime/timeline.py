"""Where the wall time of a process went, in parts that add up however many threads compile at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.runtime.event import COMPILED, AutotuneEvent, CompileEvent, EndEvent, InterpretedEvent, ProgramEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from triton_doctor.runtime.event import Header
    from triton_doctor.runtime.recording import Recording

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Parts of `wall_us`. A moment that belongs to several counts for the first: tuning is what is left of a round.

    `first_process_us` is what only the first compile of a process pays, `interpret_us` what ran in interpreter mode.
    `other_us` is everything else.
    """

    first_process_us: int
    compile_us: int
    load_us: int
    autotune_us: int
    interpret_us: int
    other_us: int
    wall_us: int


def split_time(recording: Recording, wall_us: int | None) -> Split:
    """The time of one process, whose recording it is; `wall_us` where it is known better, from outside."""
    once: list[Interval] = []
    compiling: list[Interval] = []
    loading: list[Interval] = []
    tuning: list[Interval] = []
    for event in recording.events:
        end = event.at_ns // 1000
        match event:
            case CompileEvent():
                begin = end - event.duration_us
                once.append((begin - event.process_us, begin))
                (compiling if event.tier == COMPILED else loading).append((begin, end))
            case AutotuneEvent(duration_us=int(took)):
                tuning.append((end - took, end))
            case _:
                continue
    covered: list[Interval] = []
    parts = []
    for part in (once, compiling, loading, tuning):
        before = length(covered)
        covered = union([*covered, *part])
        parts.append(length(covered) - before)
    if wall_us is None:
        start_ns, end_ns = span_ns(recording.headers, [recording])
        wall_us = (end_ns - start_ns) // 1000
    interpreted_us = sum(event.took_us for event in recording.events if isinstance(event, InterpretedEvent))
    # Threads may interpret at once; what they take together is not more than there is.
    interpreted_us = min(interpreted_us, max(0, wall_us - sum(parts)))
    return Split(
        first_process_us=parts[0],
        compile_us=parts[1],
        load_us=parts[2],
        autotune_us=parts[3],
        interpret_us=interpreted_us,
        other_us=max(0, wall_us - sum(parts) - interpreted_us),
        wall_us=wall_us,
    )


def span_ns(headers: Iterable[Header], recordings: Sequence[Recording]) -> tuple[int, int]:
    """From the earliest beginning of `headers` to the last thing known of `recordings`, in Unix time."""
    starts = [header.started_at_ns for header in headers]
    start = min(starts, default=0)
    ends = [event.at_ns for one in recordings for event in one.events if _happened(event)]
    return start, max([start, *ends])


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The same time, as intervals that do not touch, in order."""
    joined: list[Interval] = []
    for begin, end in sorted(intervals):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def length(intervals: Iterable[Interval]) -> int:
    """How long they are, together."""
    return sum(end - begin for begin, end in intervals)


def _happened(event: object) -> bool:
    # The mark of a warm-up may lie after the end.
    return isinstance(event, CompileEvent | AutotuneEvent | EndEvent | ProgramEvent) or hasattr(event, "launches")

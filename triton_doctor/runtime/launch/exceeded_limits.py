"""What a run exceeds: the budgets of the settings, and the limits of its flags, in a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.runtime.cause_wording import describe_recompile
from triton_doctor.runtime.compile_limits import Limit, find_excess, limits_of
from triton_doctor.runtime.event import COMPILED, HIDING
from triton_doctor.runtime.program_event import WARMED_UP, MarkEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.runtime.event import CompileEvent, Event
    from triton_doctor.runtime.recording import Recording


def describe_excess(
    processes: Sequence[Recording],
    *,
    budgets: Iterable[tuple[str, int]],
    at_most: int | None,
    warm_at_ns: int | None,
    at_most_warm: int | None,
) -> Iterator[str]:
    """Yield a line for each kernel that compiled more often than allowed, in total or after `warm_at_ns`.

    Each process is checked by itself.
    """
    limits = [*limits_of(budgets), *([] if at_most is None else [Limit(at_most=at_most)])]
    warm = [] if at_most_warm is None else [Limit(at_most=at_most_warm)]
    for process in processes:
        yield from _describe(process.events, limits, process, "")
        if warm_at_ns is not None:
            late = [event for event in process.events if event.at_ns > warm_at_ns]
            yield from _describe(late, warm, process, " after the warm-up")


def find_first_launch(processes: Iterable[Recording]) -> int | None:
    """Return the Unix time of the first launch: the first event of a compile or load."""
    compiles = (event for process in processes for event in process.compiles)
    return min((event.at_ns - 1000 * (event.duration_us + event.process_us) for event in compiles), default=None)


def find_mark(processes: Iterable[Recording]) -> int | None:
    """Return the earliest Unix time at which a process reported the end of its warm-up, or None."""
    marks = (event for process in processes for event in process.events if isinstance(event, MarkEvent))
    return min((event.at_ns for event in marks if event.name == WARMED_UP), default=None)


def _describe(counted: Sequence[Event], limits: Sequence[Limit], process: Recording, when: str) -> Iterator[str]:
    causes = {id(cause.event): cause for cause in process.causes}
    for excess in find_excess(counted, limits):
        last = excess.events[-1]
        rank = "" if last.rank is None else f" on rank {last.rank}"
        yield (
            f"`{excess.kernel.name}` {count_tiers(excess.events)}{when}{rank}, {excess.limit.at_most} allowed; "
            f"the last time: {describe_recompile(causes[id(last)])}"
        )


def count_tiers(events: Sequence[CompileEvent]) -> str:
    """Format the counts by tier: `compiled 6 times and was loaded from disk 6 times`."""
    compiled = sum(1 for event in events if event.tier == COMPILED)
    counts = [
        f"{what} {count:,} {'time' if count == 1 else 'times'}"
        for count, what in ((compiled, "compiled"), (len(events) - compiled, "was loaded from disk"))
        if count
    ]
    return " and ".join(counts)


def find_unchecked(processes: Iterable[Recording]) -> list[str]:
    """Return the messages of warnings after which compiles may be missing from the recordings."""
    warnings = [warning for process in processes for warning in process.warnings if warning.kind in HIDING]
    return list(dict.fromkeys(warning.message for warning in warnings))

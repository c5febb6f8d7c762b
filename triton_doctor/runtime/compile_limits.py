"""How often kernels may compile, and those that compiled more often: (events, limits) to what exceeds them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from triton_doctor.runtime.event import CompileEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from triton_doctor.runtime.event import Event, KernelName


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Each kernel whose name matches the glob `kernel` may compile this often in a process.

    Of the tier `tier` (COMPILED or LOADED), or of both: so that it does not matter what the disk happens to hold.
    The variants that a round of tuning tries do not count: the program chooses how many configs there are.
    """

    at_most: int
    kernel: str = "*"
    tier: str | None = None

    def concerns(self, kernel: KernelName) -> bool:
        """Return whether the limit applies to `kernel`."""
        return fnmatchcase(kernel.name, self.kernel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """One kernel's compiles, more than `limit` allows: `events` are all that it counts, in order of time."""

    limit: Limit
    kernel: KernelName
    events: tuple[CompileEvent, ...]


def find_excess(events: Iterable[Event], limits: Sequence[Limit]) -> tuple[Excess, ...]:
    """Return the kernels in `events` above their limit: for each, the first of `limits` that applies.

    Kernels of the same name in different places, and different ranks, are counted separately.
    """
    compiles: defaultdict[tuple[KernelName, int | None], list[CompileEvent]] = defaultdict(list)
    for event in events:
        if isinstance(event, CompileEvent) and not event.tuning:
            compiles[event.kernel, event.rank].append(event)
    found: list[Excess] = []
    for (kernel, _), of_kernel in compiles.items():
        limit = next((limit for limit in limits if limit.concerns(kernel)), None)
        if limit is not None:
            counted = tuple(event for event in of_kernel if limit.tier in (None, event.tier))
            if len(counted) > limit.at_most:
                found.append(Excess(limit=limit, kernel=kernel, events=counted))
    return tuple(found)


def limits_of(budgets: Iterable[tuple[str, int]]) -> tuple[Limit, ...]:
    """Convert `budgets` (pattern, count) of the settings to limits; longer patterns come first."""
    ordered = sorted(budgets, key=lambda budget: -len(budget[0]))
    return tuple(Limit(at_most=at_most, kernel=kernel) for kernel, at_most in ordered)

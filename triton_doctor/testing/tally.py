"""The events of a stretch to rows that travel from a worker to whoever prints: plain JSON, a row a kernel."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypedDict

from triton_doctor.runtime.causes import explain_all
from triton_doctor.runtime.event import COMPILED, CompileEvent
from triton_doctor.testing.variants import variants_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.runtime.event import Event, KernelName
    from triton_doctor.testing.variants import Variant


class Row(TypedDict):
    """One kernel. `causes` is how often each code; `variants` are a variant, and how often, each."""

    kernel: str
    compiled: int
    loaded: int
    milliseconds: float
    causes: dict[str, int]
    variants: list[tuple[str, list[list[str]], int]]


def tally(events: Iterable[Event], before: Sequence[Event] = ()) -> list[Row]:
    """A row for each kernel in `events`, in the order in which they first compiled; `before` are those before them."""
    by_kernel: defaultdict[KernelName, list[CompileEvent]] = defaultdict(list)
    for event in events:
        if isinstance(event, CompileEvent):
            by_kernel[event.kernel].append(event)
    return [
        Row(
            kernel=kernel.name,
            compiled=sum(event.tier == COMPILED for event in of_kernel),
            loaded=sum(event.tier != COMPILED for event in of_kernel),
            milliseconds=sum(event.duration_us for event in of_kernel) / 1000,
            causes=dict(Counter(cause.code for cause in explain_all(of_kernel, before))),
            variants=[
                (path, [list(part) for part in variant], count)
                for (path, variant), count in variants_in(of_kernel).items()
            ],
        )
        for kernel, of_kernel in by_kernel.items()
    ]


def variants_of_rows(rows: Iterable[Row]) -> Iterator[tuple[tuple[str, Variant], int]]:
    """Each (kernel, variant) in `rows`, and how often; JSON has made lists of the tuples."""
    for row in rows:
        for path, variant, count in row["variants"]:
            yield (path, tuple((name, text) for name, text in variant)), count

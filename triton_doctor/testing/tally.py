"""The events of a stretch to rows that travel from a worker to whoever prints, one a kernel, and rows to lines."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypedDict

from triton_doctor.runtime.causes import explain_all
from triton_doctor.runtime.event import COMPILED, CompileEvent
from triton_doctor.testing.variants import variants_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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
    """Return a row for each kernel in `events`, ordered by first compile; `before` are the events before them."""
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
    """Yield each (kernel, variant) in `rows` and its count; JSON has turned tuples into lists."""
    for row in rows:
        for path, variant, count in row["variants"]:
            yield (path, tuple((name, text) for name, text in variant)), count


def summarize(tests: Mapping[str, list[Row]], setups: Mapping[str, list[Row]]) -> Iterator[str]:
    """Yield lines on what `tests` compiled and what their fixtures in `setups` compiled, each by the name of a test.

    The name "imports" stands for what compiled outside of tests.
    """
    for name in dict.fromkeys([*tests, *setups]):
        yield name
        for row in tests.get(name, []):
            yield f"  {_format_row(row)}"
        for row in setups.get(name, []):
            yield f"  setup: {_format_row(row)}"
    yield f"in tests: {_sum(tests)}"
    yield f"in setup, counted against no test: {_sum(setups)}"


def _format_row(row: Row) -> str:
    causes = ", ".join(f"{code} {count}" for code, count in sorted(row["causes"].items()))
    return f"`{row['kernel']}` {_tiers([row])}, {row['milliseconds']:.1f} ms ({causes})"


def _sum(rows: Mapping[str, list[Row]]) -> str:
    every = [row for of_name in rows.values() for row in of_name]
    return f"{_tiers(every)}, {sum(row['milliseconds'] for row in every):.1f} ms"


def _tiers(rows: Iterable[Row]) -> str:
    every = list(rows)
    return f"{sum(row['compiled'] for row in every)} compiled, {sum(row['loaded'] for row in every)} loaded from disk"

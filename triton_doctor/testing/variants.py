"""The compiles of a test as variants of kernels, and as rows of a summary; the same on each machine and run."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypedDict

from triton_doctor.runtime.causes import explain_all
from triton_doctor.runtime.event import COMPILED, CompileEvent
from triton_doctor.runtime.key_changes import MODES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from triton_doctor.runtime.event import CompileKey, Event, KernelName

Variant = tuple[tuple[str, str], ...]
"""Each parameter's type and class, or value where it is a constexpr; then the options that the launch wrote."""


def variant_of(key: CompileKey) -> Variant:
    """Return the part of `key` that does not depend on the machine, the version of Triton or the environment."""
    constants, classes = dict(key.constants), dict(key.attributes)
    return (*_parameters(key.signature, constants, classes), *_options(key.spelled))


def kernel_path(kernel: KernelName) -> str:
    """Return `module.function`, which does not change when lines move."""
    return f"{kernel.module}.{kernel.name}"


def variants_in(events: Iterable[Event]) -> Counter[tuple[str, Variant]]:
    """Count how often each variant was compiled or loaded, on the device where it was most often.

    Kernels that compilers such as Inductor generated are left out, as they have new names in each run.
    """
    counts: Counter[tuple[str, Variant, int | None]] = Counter()
    for event in events:
        if isinstance(event, CompileEvent) and not event.direct:
            counts[kernel_path(event.kernel), variant_of(event.key), event.device] += 1
    most: Counter[tuple[str, Variant]] = Counter()
    for (kernel, variant, _), count in counts.items():
        most[kernel, variant] = max(most[kernel, variant], count)
    return most


def _parameters(
    signature: Iterable[tuple[str, str]], constants: Mapping[str, object], classes: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for name, kind in signature:
        yield name, repr(constants.get(name)) if kind == "constexpr" else kind + classes.get(name, "")


def _options(spelled: Iterable[str]) -> Iterator[tuple[str, str]]:
    for option in spelled:
        name, _, value = option.partition("=")
        if name not in MODES:
            yield name, value


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

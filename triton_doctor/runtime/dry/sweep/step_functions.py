"""Points and a value of any kind at each, to the conditions that decide it: `length > 1024`, `length % 16 == 0`."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from triton_doctor.runtime.dry.sweep.fit import combine_sizes, fits, rank, spread
from triton_doctor.runtime.dry.sweep.size_formulas import Formula

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.runtime.dry.sweep.size_formulas import Value

DIVISORS = (2, 4, 8, 16, 32, 64, 128, 256)
MOST_STEPS = 5
# A step is one if more sizes than this show it; a size alone says nothing of what lies around it.
SIZES_A_STEP = 2


def fit_conditions(points: Sequence[Mapping[str, int]], values: Sequence[Value]) -> list[Formula]:
    """Return conditions on a size or product of sizes that give `values` at `points`, cheapest first."""
    names = [name for name in points[0] if len({point[name] for point in points}) > 1]
    if len({_typed(value) for value in values}) < 2:
        return []
    found: list[Formula] = []
    for source in combine_sizes(names):
        at: dict[int, Value] = {}
        for point, value in zip(points, values, strict=True):
            here = source.evaluate(point)
            if not isinstance(here, int) or _typed(at.setdefault(here, value)) != _typed(value):
                break
        else:
            found += [*_choices(source, at), *_steps(source, sorted(at.items()))]
    return sorted((formula for formula in dict.fromkeys(found) if fits(formula, points, values)), key=rank)


def _choices(source: Formula, at: Mapping[int, Value]) -> Iterator[Formula]:
    """Yield formulas for a boolean value: divisibility of `source`, or its equality with one number."""
    kinds = {_typed(value): value for value in at.values()}
    if len(kinds) != 2 or not all(isinstance(value, bool) for value in kinds.values()):
        return
    for divisor in DIVISORS:
        yield Formula("divisible", (source, divisor))
    for value in (True, False):
        alone = [number for number, held in at.items() if held is value]
        if value and len(alone) == 1:
            yield Formula("equal", (source, alone[0]))


def _steps(source: Formula, at: Sequence[tuple[int, Value]]) -> Iterator[Formula]:
    """Yield step functions of `source` with up to MOST_STEPS values, for several limits that fit the points."""
    runs: list[tuple[list[int], Value]] = []
    for number, value in at:
        if runs and _typed(runs[-1][1]) == _typed(value):
            runs[-1][0].append(number)
        else:
            runs.append(([number], value))
    if not 2 <= len(runs) <= MOST_STEPS or any(len(numbers) < SIZES_A_STEP for numbers, _ in runs[1:]):
        return
    spans = [(numbers[-1], after[0] - 1) for (numbers, _), (after, _) in pairwise(runs)]
    kept = [value for _, value in runs]
    for limits in zip(*(spread(low, high) for low, high in spans), strict=True):
        last: Formula | Value = kept[-1]
        for limit, value in zip(reversed(limits), reversed(kept[:-1]), strict=True):
            last = Formula("if", (source, limit, value, last))
        if isinstance(last, Formula):
            yield last


def _typed(value: Value) -> tuple[type, Value]:
    """Return `value` with its type: True and 1 are different keys for Triton."""
    return type(value), value

"""Chooses between formulas, or conditions such as `length > 1024`, that fit, by points at which they differ.

A formula is given only if it fits every point, also those held back while it was made, and if no other formula that
fits differs from it where the function may be called, or grows otherwise. While two differ, `find_difference` names a
point that decides; the sweep calls the function there. The last one left is challenged where it jumps
(`find_challenges`): `cdiv(length, 772)` may stand for `cdiv(batch + length, 777)`.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from triton_doctor.runtime.dry.sweep.fit import combine_sizes, fit_integers, fits, rank, spread
from triton_doctor.runtime.dry.sweep.size_formulas import Formula, Growth

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from triton_doctor.runtime.dry.sweep.dimensions import Dimension, Point
    from triton_doctor.runtime.dry.sweep.size_formulas import Value

DRAWS = 400
CHALLENGES = 4
# Of sizes in the larger half, the share with values that no smaller size has, from which growth is called unbounded.
NEW_IN_LARGER_HALF = 0.75
FEW_SIZES = 6
DIVISORS = (2, 4, 8, 16, 32, 64, 128, 256)
MOST_STEPS = 5
# A step is one if more sizes than this show it; a size alone says nothing of what lies around it.
SIZES_A_STEP = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The value of one part at each point where it was seen. `held_back` are not used to make formulas."""

    dimensions: tuple[Dimension, ...]
    values: Mapping[Point, Value]
    held_back: frozenset[Point] = frozenset()

    def sizes(self, point: Point) -> dict[str, int]:
        """Return the sizes of `point` by dimension name."""
        return {dimension.name: size for dimension, size in zip(self.dimensions, point, strict=True)}


def find_formulas(samples: Samples, known: Iterable[Formula] = ()) -> list[Formula]:
    """Return the formulas that fit every sample, cheapest first.

    Returns none unless a formula made without the held-back samples also fits those. Constants are then bounded by
    all samples, so that none seems certain merely because a held-back sample excluded its rivals.
    """
    seen: dict[Point, Value] = {}
    held: dict[Point, Value] = {}
    for point, value in samples.values.items():
        (held if point in samples.held_back else seen)[point] = value
    made = _fit(samples, seen, known)
    points = [samples.sizes(point) for point in held]
    if not any(fits(formula, points, list(held.values())) for formula in made):
        return []
    return _fit(samples, samples.values, known)


def _fit(samples: Samples, values: Mapping[Point, Value], known: Iterable[Formula]) -> list[Formula]:
    if not values:
        return []
    points = [samples.sizes(point) for point in values]
    every = list(values.values())
    numbers = [value for value in every if isinstance(value, int) and not isinstance(value, bool)]
    found = fit_integers(points, numbers, known) if len(numbers) == len(every) else []
    return found or fit_conditions(points, every)


def find_difference(formulas: Sequence[Formula], samples: Samples) -> Point | None:
    """Return the allowed, unobserved point at which most pairs of `formulas` differ; None if all agree."""
    best: Point | None = None
    most = 0
    if len(formulas) < 2:
        return None
    for point in dict.fromkeys(_candidates(formulas, samples)):
        if point not in samples.values:
            sizes = samples.sizes(point)
            outcomes = Counter(_outcome(formula, sizes) for formula in formulas)
            parted = len(formulas) ** 2 - sum(count**2 for count in outcomes.values())
            if parted > most:
                best, most = point, parted
    return best


def find_challenges(formula: Formula, samples: Samples) -> list[Point]:
    """Return unobserved points on both sides of jumps of `formula`, which would expose a similar formula.

    The other dimensions are at their smallest or largest size.
    """
    chance = random.Random(3)
    points: dict[Point, None] = {}
    for position, dimension in enumerate(samples.dimensions):
        if dimension.is_range and dimension.name in formula.dimensions:
            for number in range(CHALLENGES):
                others = [_ends(each)[number % 2] for each in samples.dimensions]

                def at(size: int, others: list[int] = others, position: int = position) -> Point:
                    return (*others[:position], size, *others[position + 1 :])

                low, high = dimension.draw(chance), dimension.last
                start = _outcome(formula, samples.sizes(at(low)))
                if _outcome(formula, samples.sizes(at(high))) != start:
                    while high - low > 1:
                        middle = (low + high) // 2
                        same = _outcome(formula, samples.sizes(at(middle))) == start
                        low, high = (middle, high) if same else (low, middle)
                    points |= {at(low): None, at(high): None}
    return [point for point in points if point not in samples.values]


def _ends(dimension: Dimension) -> tuple[int, int]:
    sizes = dimension.sizes or (dimension.first, dimension.last)
    return sizes[0], sizes[-1]


def choose_formula(formulas: Sequence[Formula], samples: Samples) -> Formula | None:
    """Return the first of `formulas` if all agree at every allowed point and grow alike, else None."""
    if not formulas or find_difference(formulas, samples) is not None:
        return None
    first, *others = formulas
    allowed = _allowed_points(samples)
    if any(_outcome(first, at) != _outcome(other, at) for other in others for at in allowed):
        return None
    return first if all(other.growth is first.growth for other in others) else None


def find_deciding(samples: Samples) -> tuple[str, ...]:
    """Return the smallest set of dimensions that determines the value at every observed point.

    Returns all dimensions if the sizes alone do not determine it.
    """
    names = [dimension.name for dimension in samples.dimensions]
    deciding = list(range(len(names)))
    for position in range(len(names) - 1, -1, -1):
        without = [other for other in deciding if other != position]
        if _decide(without, samples.values):
            deciding = without
    return tuple(names[position] for position in deciding)


def judge_growth(samples: Samples, follows: Sequence[str]) -> Growth:
    """Estimate how a part without a formula grows, by whether larger sizes still bring new values."""
    positions = [number for number, dimension in enumerate(samples.dimensions) if dimension.name in follows]
    growths = {_growth_along(samples, position) for position in positions}
    for growth in (Growth.UNBOUNDED, Growth.UNKNOWN, Growth.LOG2):
        if growth in growths:
            return growth
    return Growth.BOUNDED if growths else Growth.UNKNOWN


def _growth_along(samples: Samples, position: int) -> Growth:
    by_size: dict[int, set[object]] = {}
    for point, value in samples.values.items():
        by_size.setdefault(point[position], set()).add((type(value), value))
    sizes = sorted(by_size)
    if len(sizes) < FEW_SIZES:
        return Growth.UNKNOWN
    middle = len(sizes) // 2
    seen = set().union(*(by_size[each] for each in sizes[:middle]))
    new = 0
    for size in sizes[middle:]:
        new += bool(by_size[size] - seen)
        seen |= by_size[size]
    if not new:
        return Growth.BOUNDED
    return Growth.UNBOUNDED if new >= NEW_IN_LARGER_HALF * (len(sizes) - middle) else Growth.UNKNOWN


def _decide(positions: Sequence[int], values: Mapping[Point, Value]) -> bool:
    held: dict[Point, object] = {}
    for point, value in values.items():
        kept = (type(value), value)
        if held.setdefault(tuple(point[position] for position in positions), kept) != kept:
            return False
    return True


def _candidates(formulas: Sequence[Formula], samples: Samples) -> Iterator[Point]:
    """Yield points where `formulas` may differ: between neighbors of different value, near limits, and random."""
    chance = random.Random(1)
    dimensions = samples.dimensions
    seen = list(samples.values)
    for position, dimension in enumerate(dimensions):
        lines: dict[Point, list[Point]] = {}
        for point in seen:
            lines.setdefault((*point[:position], *point[position + 1 :]), []).append(point)
        for line in lines.values():
            for low, high in pairwise(sorted(line, key=lambda point: point[position])):
                if samples.values[low] != samples.values[high]:
                    between = dimension.between(low[position], high[position])
                    if between is not None:
                        yield (*low[:position], between, *low[position + 1 :])
                        if dimension.is_range:
                            yield (*low[:position], high[position] - 1, *low[position + 1 :])
    for limit in {constant for formula in formulas for constant in _limits(formula)}:
        yield from _near(limit, samples, chance)
    for _ in range(DRAWS):
        yield tuple(dimension.draw(chance) for dimension in dimensions)


def _near(limit: int, samples: Samples, chance: random.Random) -> Iterator[Point]:
    """Yield allowed points at which a size or a product of sizes is about `limit`."""
    for position, dimension in enumerate(samples.dimensions):
        if dimension.is_range:
            for _ in range(8):
                others = [1 if chance.random() < 0.3 else size.draw(chance) for size in samples.dimensions]
                product = 1
                for number, other in enumerate(others):
                    product *= 1 if number == position else max(1, other)
                for quotient in (limit, limit // product, limit // product + 1):
                    if dimension.first <= quotient <= dimension.last:
                        point = (*others[:position], quotient, *others[position + 1 :])
                        if all(
                            _allowed(dimension, size) for dimension, size in zip(samples.dimensions, point, strict=True)
                        ):
                            yield point


def _allowed(dimension: Dimension, size: int) -> bool:
    return dimension.first <= size <= dimension.last if dimension.is_range else size in dimension.sizes


def _limits(formula: Formula) -> Iterator[int]:
    for operand in formula.operands:
        if isinstance(operand, Formula):
            yield from _limits(operand)
        elif isinstance(operand, int) and not isinstance(operand, bool):
            yield operand
            if formula.operation == "if":
                yield operand + 1


def _allowed_points(samples: Samples) -> list[dict[str, int]]:
    """Return random points at which the function may be called, with additional small sizes."""
    chance = random.Random(2)
    spans = [dimension.sizes or range(dimension.first, dimension.last + 1) for dimension in samples.dimensions]
    drawn = [tuple(chance.choice(span) for span in spans) for _ in range(DRAWS)]
    small = [tuple(chance.choice(span[:40]) for span in spans) for _ in range(DRAWS // 4)]
    return [samples.sizes(point) for point in (*drawn, *small)]


def _outcome(formula: Formula, sizes: Mapping[str, int]) -> object:
    try:
        value = formula.evaluate(sizes)
    except ZeroDivisionError:
        return "undefined"
    return type(value), value


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

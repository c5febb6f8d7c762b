"""Points and the integer seen at each, to the formulas that fit every point, cheapest first.

Sources are what programs compute from sizes before they round: products, `next_power_of_2`, `cdiv` by usual blocks, and
what other parameters of the kernel are known to be. For each source the constants of a last step are solved for, rather
than guessed: `cdiv(source, k)` at each point bounds `k` from both sides. Where several constants fit, the extremes and
the roundest are all given, so that a further point can tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import gcd
from typing import TYPE_CHECKING

from triton_doctor.runtime.dry.sweep.size_formulas import Formula, cdiv, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from triton_doctor.runtime.dry.sweep.size_formulas import Value

BLOCKS = (16, 32, 64, 128, 256, 1024)
# With fewer values a formula with a constant of its own fits by chance.
FEWEST_VALUES = 3
CANDIDATES = 16
MOST_IN_PRODUCT = 4
# A bound that one point reaches may be no bound.
FEWEST_AT_BOUND = 2
# A sum of more terms explains anything.
MOST_TERMS = 4
ROWS_TO_SPARE = 4


@dataclass(frozen=True, slots=True)
class Column:
    """A formula with its value at each point."""

    formula: Formula
    values: tuple[int, ...]


def fit_integers(
    points: Sequence[Mapping[str, int]], values: Sequence[int], known: Iterable[Formula] = ()
) -> list[Formula]:
    """Return the formulas that give `values` at `points`, cheapest first, at most CANDIDATES.

    `known` are formulas of other parameters of the kernel, which may be parts of the result.
    """
    if len(set(values)) < 2:
        return []
    names = [name for name in points[0] if len({point[name] for point in points}) > 1]
    plain = [column for formula in combine_sizes(names) if (column := _column(formula, points))]
    sources = [*plain, *_rounded(plain, points, known)]
    target = tuple(values)
    found = list(dict.fromkeys(formula for source in sources for formula in _last_step(source, target)))
    if not found:
        found = list(_rarer(plain, sources, target))
    checked = (
        formula for formula in sorted(found, key=rank) if _is_needed(formula, points) and fits(formula, points, values)
    )
    return [formula for formula, _ in zip(checked, range(CANDIDATES), strict=False)]


def _is_needed(formula: Formula, points: Sequence[Mapping[str, int]]) -> bool:
    """Return whether the bound of a `min` or `max` formula changes its value at some point; True without a bound."""
    if formula.operation not in ("min", "max"):
        return True
    inner = formula.operands[0]
    return (
        isinstance(inner, Formula)
        and any(inner.evaluate(point) != formula.evaluate(point) for point in points)
        and _is_needed(inner, points)
    )


def fits(formula: Formula, points: Sequence[Mapping[str, int]], values: Sequence[object]) -> bool:
    """Return whether `formula` gives each of `values` at `points`; a bool does not equal an int."""
    for point, value in zip(points, values, strict=True):
        try:
            given = formula.evaluate(point)
        except (ZeroDivisionError, OverflowError):
            return False
        if given != value or (isinstance(given, bool) is not isinstance(value, bool)):
            return False
    return True


def rank(formula: Formula) -> tuple[int, int, str]:
    """Return a sort key that puts formulas that are shorter to read first."""
    text = str(formula)
    return formula.cost, len(text), text


def combine_sizes(names: Sequence[str]) -> Iterator[Formula]:
    """Yield each size, the products of several sizes and the sums of two."""
    for count in range(1, min(len(names), MOST_IN_PRODUCT) + 1):
        for chosen in combinations(names, count):
            yield size(chosen[0]) if count == 1 else Formula("product", tuple(size(name) for name in chosen))
    for first, other in combinations(names, 2):
        yield Formula("sum", (size(first), size(other)))


def _rounded(
    plain: Sequence[Column], points: Sequence[Mapping[str, int]], known: Iterable[Formula]
) -> Iterator[Column]:
    steps: list[Formula] = []
    for column in plain:
        inner = column.formula
        steps += [Formula(name, (inner,)) for name in ("next_power_of_2", "log2")]
        steps += [Formula("cdiv", (inner, block)) for block in BLOCKS if block < max(column.values)]
    learned = list(dict.fromkeys(known))
    steps += learned
    for column in plain:
        steps += [Formula("cdiv", (column.formula, divisor)) for divisor in learned]
        steps += [Formula("div", (column.formula, divisor)) for divisor in learned]
    rounded = [made for formula in dict.fromkeys(steps) if (made := _column(formula, points))]
    yield from rounded
    for column in rounded:
        inside = column.formula.dimensions
        for factor in plain:
            if not factor.formula.dimensions & inside:
                values = tuple(value * other for value, other in zip(factor.values, column.values, strict=True))
                yield Column(_product(factor.formula, column.formula), values)
    for column in rounded:
        if column.formula.operation == "cdiv":
            yield from filter(None, [_column(Formula("next_power_of_2", (column.formula,)), points)])
    for first, other in combinations([column for column in rounded if column.formula in learned], 2):
        yield from filter(None, [_column(_product(first.formula, other.formula), points)])


def _last_step(source: Column, target: tuple[int, ...]) -> Iterator[Formula]:
    """Yield formulas that turn `source` into `target` by at most one solved constant and optional bounds."""
    few = len(set(target)) < FEWEST_VALUES
    if source.values == target:
        yield source.formula
    low, high = min(target), max(target)
    if not few:
        yield from _solve(source, target)
        factor = gcd(*target)
        if factor > 1:
            shared = tuple(value // factor for value in target)
            yield from (_product(factor, step) for step in _divided(source, shared))
        for least, most in ((None, high), (low, None), (low, high)):
            yield from _bounded(source, target, least, most)


def _solve(source: Column, target: tuple[int, ...]) -> Iterator[Formula]:
    yield from _linear(source, target)
    yield from _divided(source, target)
    step = gcd(*(value - other for value, other in zip(source.values, target, strict=True)))
    if step > max(target) and min(target) >= 0 and len(set(source.values)) > len(set(target)):
        yield Formula("mod", (source.formula, step))


def _linear(source: Column, target: tuple[int, ...]) -> Iterator[Formula]:
    first = source.values[0]
    second = next((index for index, value in enumerate(source.values) if value != first), None)
    if second is None:
        return
    factor, rest = divmod(target[second] - target[0], source.values[second] - first)
    offset = target[0] - factor * first
    if rest or not factor or (factor, offset) == (1, 0):
        return
    if all(factor * value + offset == wanted for value, wanted in zip(source.values, target, strict=True)):
        scaled = source.formula if factor == 1 else _product(factor, source.formula)
        yield Formula("sum", (scaled, offset)) if offset else scaled


def _divided(source: Column, target: tuple[int, ...]) -> Iterator[Formula]:
    """Yield `cdiv` and `//` of `source` by the constants that give `target`; each point bounds them on both sides."""
    pairs = list(zip(source.values, target, strict=True))
    if any(value < 0 or wanted < 0 for value, wanted in pairs):
        return
    exact = all(wanted and value % wanted == 0 for value, wanted in pairs)
    up = [(cdiv(value, wanted), _below(value, wanted - 1)) for value, wanted in pairs if wanted]
    if all(wanted or not value for value, wanted in pairs) and not exact:
        yield from _divisors("cdiv", source, up)
    down = [(value // (wanted + 1) + 1, value // wanted if wanted else None) for value, wanted in pairs]
    yield from _divisors("div", source, down)


def _below(value: int, by: int) -> int | None:
    """Return the largest k with value / k > by; None if there is no limit."""
    return (value - 1) // by if by > 0 else None


def _divisors(operation: str, source: Column, bounds: Sequence[tuple[int, int | None]]) -> Iterator[Formula]:
    low = max((least for least, _ in bounds), default=2)
    high = min((most for _, most in bounds if most is not None), default=None)
    if high is None or low > high or high < 2:
        return
    for divisor in sorted(set(spread(max(2, low), high))):
        yield Formula(operation, (source.formula, divisor))


def spread(low: int, high: int) -> tuple[int, int, int, int]:
    """Return the ends of a span, its middle and its roundest number: points between them halve the span."""
    return low, (low + high) // 2, roundest(low, high), high


def roundest(low: int, high: int) -> int:
    """Return the number from `low` to `high` that is divisible by the largest power of two or of ten."""
    if low <= 0:
        return low
    tens = 10 ** len(str(high))
    while tens > 1 and (high // tens) * tens < low:
        tens //= 10
    twos = 1 << high.bit_length()
    while (high // twos) * twos < low:
        twos >>= 1
    chosen = (high // twos) * twos if twos >= tens or tens == 1 else (high // tens) * tens
    return max(low, chosen)


def _bounded(source: Column, target: tuple[int, ...], least: int | None, most: int | None) -> Iterator[Formula]:
    inside = [index for index, value in enumerate(target) if value not in (least, most)]
    if not inside or len(target) - len(inside) < FEWEST_AT_BOUND:
        return
    if all(source.values[index] == target[index] for index in inside) and _bites(source.values, least, most):
        yield _clamp(source.formula, least, most)
    within = tuple(target[index] for index in inside)
    if len(set(within)) >= FEWEST_VALUES:
        part = Column(source.formula, tuple(source.values[index] for index in inside))
        for step in (*_linear(part, within), *_divided(part, within)):
            yield _clamp(step, least, most)


def _bites(values: Sequence[int], least: int | None, most: int | None) -> bool:
    """Return whether each given bound changes some of `values`."""
    return (least is None or min(values) < least) and (most is None or max(values) > most)


def _clamp(formula: Formula, least: int | None, most: int | None) -> Formula:
    raised = formula if least is None else Formula("max", (formula, least))
    return raised if most is None else Formula("min", (raised, most))


def _rarer(plain: Sequence[Column], sources: Sequence[Column], target: tuple[int, ...]) -> Iterator[Formula]:
    """Yield formulas that need two sources: a sum of products, or the minimum or maximum of two."""
    columns = [(column.formula, column.values) for column in plain if column.formula.operation != "sum"]
    polynomial = fit_polynomial(columns, target)
    if polynomial is not None:
        yield polynomial
        return
    for source in sources[len(plain) :]:
        if source.formula.operation in ("cdiv", "div", "next_power_of_2", "min", "max"):
            several = fit_polynomial([*columns, (source.formula, source.values)], target)
            if several is not None:
                yield several
                return
    for first, other in combinations(sources, 2):
        pairs = list(zip(first.values, other.values, target, strict=True))
        if all(wanted in (left, right) for left, right, wanted in pairs):
            for name, chosen in (("min", min), ("max", max)):
                if all(chosen(left, right) == wanted for left, right, wanted in pairs):
                    yield Formula(name, (first.formula, other.formula))


def _product(first: Formula | int, other: Formula) -> Formula:
    factors = [
        factor
        for each in (first, other)
        for factor in (each.operands if isinstance(each, Formula) and each.operation == "product" else (each,))
    ]
    return Formula("product", tuple(factors))


def _column(formula: Formula, points: Sequence[Mapping[str, int]]) -> Column | None:
    """Evaluate `formula` at `points`; None unless the values are integers that differ."""
    try:
        values = tuple(formula.evaluate(point) for point in points)
    except ZeroDivisionError:
        return None
    numbers = tuple(value for value in values if isinstance(value, int) and not isinstance(value, bool))
    return Column(formula, numbers) if len(numbers) == len(values) and len(set(numbers)) > 1 else None


def fit_polynomial(columns: Sequence[tuple[Formula, Sequence[int]]], target: Sequence[int]) -> Formula | None:
    """Return the sum of `columns` with integer factors and a constant that equals `target`; None if not unique."""
    width = len(columns) + 1
    if len(target) < 2 * width:
        return None
    # Some of the rows decide; whoever takes the sum checks it on all.
    rows = [
        [Fraction(values[index]) for _, values in columns] + [Fraction(1), Fraction(target[index])]
        for index in range(0, len(target), max(1, len(target) // (2 * width + ROWS_TO_SPARE)))
    ]
    factors = _solve_columns(rows, width)
    if factors is None or any(factor.denominator != 1 for factor in factors):
        return None
    terms: list[Formula | int] = [
        formula if factor == 1 else Formula("product", (int(factor), *_factors(formula)))
        for factor, (formula, _) in zip(factors, columns, strict=False)
        if factor
    ]
    terms += [int(factors[-1])] if factors[-1] else []
    return Formula("sum", tuple(terms)) if 1 < len(terms) <= MOST_TERMS else None


def _factors(formula: Formula) -> tuple[Formula | Value, ...]:
    return formula.operands if formula.operation == "product" else (formula,)


def _solve_columns(rows: list[list[Fraction]], width: int) -> list[Fraction] | None:
    """Solve the overdetermined linear equations `rows`; None without exactly one solution."""
    for pivot in range(width):
        found = next((index for index in range(pivot, len(rows)) if rows[index][pivot]), None)
        if found is None:
            return None
        rows[pivot], rows[found] = rows[found], rows[pivot]
        lead = rows[pivot][pivot]
        rows[pivot] = [value / lead for value in rows[pivot]]
        for index, row in enumerate(rows):
            if index != pivot and row[pivot]:
                factor = row[pivot]
                rows[index] = [value - factor * other for value, other in zip(row, rows[pivot], strict=True)]
    if any(row[-1] for row in rows[width:]):
        return None
    return [rows[index][-1] for index in range(width)]

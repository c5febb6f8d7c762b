"""Observations to moved parts: which parts of which kernel's key change over the points, what they follow, and how.

A part that has several values at one point, because the function launches its kernel in several ways, is explained by
what is left when the values that all points share are taken away.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from triton_doctor.runtime.dry.sweep.learning import (
    Samples,
    choose_formula,
    find_challenges,
    find_deciding,
    find_difference,
    find_formulas,
    judge_growth,
)
from triton_doctor.runtime.dry.sweep.size_formulas import Formula, Growth
from triton_doctor.runtime.sweep_event import CONSTEXPR, INTEGER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from triton_doctor.runtime.dry.sweep.dimensions import Dimension, Point
    from triton_doctor.runtime.dry.sweep.observation import Observation, ProbedPart
    from triton_doctor.runtime.dry.sweep.size_formulas import Value
    from triton_doctor.runtime.event import KernelName

# Over more sizes it is not counted how many values a formula has.
COUNTED_EXACTLY = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a part follows: the dimensions, the formula where one is certain, and how it grows.

    `count` is how many values the formula has over all sizes to be swept, of one model if a call moves it; None where
    that is not known.
    """

    follows: tuple[str, ...]
    formula: Formula | None
    growth: Growth
    count: int | None


@dataclass(slots=True)
class LearnedFormulas:
    """Results that one round of learning passes to the next: formulas by fitted values, and challenged formulas."""

    fitted: dict[object, list[Formula]] = field(default_factory=dict)
    challenged: set[Formula] = field(default_factory=set)


class Attribution:
    """Explains the parts that moved by the observations so far."""

    def __init__(
        self,
        dimensions: tuple[Dimension, ...],
        held_back: frozenset[Point],
        observations: Mapping[Point, Observation],
        memory: LearnedFormulas,
    ) -> None:
        self._dimensions, self._held_back, self._memory = dimensions, held_back, memory
        self._observations = observations
        self.moving = find_moving(observations)
        self._seen = {
            (variant.kernel, part, type(value), value)
            for seen in observations.values()
            for variant in seen.variants
            for part, value in variant.parts
        }
        self._chosen: dict[tuple[KernelName, ProbedPart], Explanation] = {}
        self._known: dict[KernelName, tuple[Formula, ...]] = {}

    def find_points(self) -> list[Point]:
        """Return the points to observe next: those where candidate formulas of a part of the key differ.

        Where one formula is left, these are points around its jumps.
        """
        points: dict[Point, None] = {}
        for (kernel, _), at in self.moving.items():
            samples = self._samples(at)
            formulas = self._find(samples, kernel)
            point = find_difference(formulas, samples)
            if point is not None:
                points[point] = None
            elif formulas and formulas[0] not in self._memory.challenged:
                self._memory.challenged.add(formulas[0])
                points |= dict.fromkeys(find_challenges(formulas[0], samples))
        for kernel in {variant.kernel: None for seen in self._observations.values() for variant in seen.variants}:
            samples = self._presence(kernel)
            point = find_difference(self._fit(samples, ()), samples)
            points |= {} if point is None else {point: None}
        return list(points)

    def is_predicted(self, point: Point, seen: Observation) -> bool:
        """Return whether each part of every variant has a value observed before or given by its formula."""
        for variant in seen.variants:
            for part, value in variant.parts:
                if (variant.kernel, part, type(value), value) in self._seen:
                    continue
                explanation = self.explain(variant.kernel, part) if (variant.kernel, part) in self.moving else None
                if explanation is None or explanation.formula is None:
                    return False
                given = dict(variant.integers).get(part.name) if part.kind == INTEGER else value
                sizes = {dimension.name: size for dimension, size in zip(self._dimensions, point, strict=True)}
                if explanation.formula.evaluate(sizes) != given:
                    return False
        return True

    def find_condition(self, kernel: KernelName) -> Formula | None:
        """Return the condition under which `kernel` is launched; None if always launched or uncertain."""
        samples = self._presence(kernel)
        return choose_formula(self._fit(samples, ()), samples)

    def explain(self, kernel: KernelName, part: ProbedPart) -> Explanation:
        """Explain what `part` of the key depends on. The result is cached."""
        if (kernel, part) not in self._chosen:
            self._chosen[kernel, part] = self._explain(kernel, part)
        return self._chosen[kernel, part]

    def _explain(self, kernel: KernelName, part: ProbedPart) -> Explanation:
        at = self.moving[kernel, part]
        samples = self._samples(at)
        formula = choose_formula(self._find(samples, kernel), samples)
        if formula is not None and all(
            formula.evaluate(samples.sizes(point)) in values for point, values in at.items()
        ):
            follows = tuple(dimension.name for dimension in self._dimensions if dimension.name in formula.dimensions)
            if part.kind == INTEGER:
                return Explanation(follows=follows, formula=formula, growth=Growth.BOUNDED, count=None)
            growth, count = self._where_launched(kernel, formula)
            return Explanation(follows=follows, formula=formula, growth=growth, count=count)
        whole = Samples(dimensions=self._dimensions, values={point: _combine(values) for point, values in at.items()})
        follows = find_deciding(whole)
        growth = Growth.BOUNDED if part.kind == INTEGER else judge_growth(whole, follows)
        return Explanation(follows=follows, formula=None, growth=growth, count=None)

    def _presence(self, kernel: KernelName) -> Samples:
        """Return whether `kernel` was launched, by point."""
        launched = {
            point: any(variant.kernel == kernel for variant in seen.variants)
            for point, seen in self._observations.items()
        }
        return Samples(dimensions=self._dimensions, values=launched, held_back=self._held_back)

    def _samples(self, at: Mapping[Point, list[Value]]) -> Samples:
        shared = _shared(list(at.values()))
        values = {}
        for point, every in at.items():
            own = every if len(every) == 1 else [value for value in every if value not in shared]
            if len(own) == 1:
                values[point] = own[0]
        return Samples(dimensions=self._dimensions, values=values, held_back=self._held_back)

    def _find(self, samples: Samples, kernel: KernelName) -> list[Formula]:
        """Return the formulas that fit `samples`; if none do, try those built on other constexprs of `kernel`."""
        found = self._fit(samples, ())
        known = () if found else self._constexprs(kernel)
        return self._fit(samples, known) if known else found

    def _constexprs(self, kernel: KernelName) -> tuple[Formula, ...]:
        """Return the formulas of the constexprs of `kernel` that are certain so far."""
        if kernel not in self._known:
            chosen = []
            for (owner, part), at in self.moving.items():
                if owner == kernel and part.kind == CONSTEXPR:
                    samples = self._samples(at)
                    chosen.append(choose_formula(self._fit(samples, ()), samples))
            self._known[kernel] = tuple(dict.fromkeys(formula for formula in chosen if formula is not None))
        return self._known[kernel]

    def _fit(self, samples: Samples, known: tuple[Formula, ...]) -> list[Formula]:
        """Return the formulas that fit `samples`. Results are cached by the sampled values."""
        key = known, tuple((point, type(value), value) for point, value in samples.values.items())
        if key not in self._memory.fitted:
            self._memory.fitted[key] = find_formulas(samples, known)
        return self._memory.fitted[key]

    def _where_launched(self, kernel: KernelName, formula: Formula) -> tuple[Growth, int | None]:
        """Return how `formula` grows and how many values it has, at the sizes that launch `kernel`."""
        if all(self._presence(kernel).values.values()):
            return formula.growth, self._count(formula, None)
        condition = self.find_condition(kernel)
        if condition is None:
            return Growth.BOUNDED if formula.growth is Growth.BOUNDED else Growth.UNKNOWN, None
        # Launched up to a limit of a size, or of a product or sum of sizes: each of these is limited then.
        limited = condition.operation == "if" and condition.operands[2:] == (True, False)
        growth = Growth.BOUNDED if limited and formula.dimensions <= condition.dimensions else formula.growth
        return growth, self._count(formula, condition)

    def _count(self, formula: Formula, condition: Formula | None) -> int | None:
        """Count the values of `formula` over all sizes that satisfy `condition`; None if too many to try.

        If the formula also depends on dimensions fixed by a model, returns the maximum over their settings.
        """
        names = formula.dimensions | (frozenset() if condition is None else condition.dimensions)
        spans = {
            dimension.name: range(dimension.first, dimension.last + 1) if dimension.is_range else dimension.sizes
            for dimension in self._dimensions
            if dimension.name in names
        }
        if prod(map(len, spans.values())) > COUNTED_EXACTLY:
            return None
        points = (dict(zip(spans, point, strict=True)) for point in product(*spans.values()))
        fixed = {dimension.name for dimension in self._dimensions if dimension.is_fixed}
        own = sorted(fixed & formula.dimensions) if formula.dimensions - fixed else []
        values: defaultdict[tuple[int, ...], set[Value]] = defaultdict(set)
        for at in points:
            if condition is None or condition.evaluate(at):
                values[tuple(at[name] for name in own)].add(formula.evaluate(at))
        return max(map(len, values.values()), default=0)


def find_moving(
    observations: Mapping[Point, Observation],
) -> dict[tuple[KernelName, ProbedPart], dict[Point, list[Value]]]:
    """Return each part of a kernel's key whose values differ between points, with its values by point.

    For an integer argument whose class changes, returns the integers themselves if all of them are known.
    """
    values: defaultdict[tuple[KernelName, ProbedPart], dict[Point, list[Value]]] = defaultdict(dict)
    integers: defaultdict[tuple[KernelName, ProbedPart], dict[Point, list[Value]]] = defaultdict(dict)
    for point, seen in observations.items():
        for variant in seen.variants:
            arguments = dict(variant.integers)
            for part, value in variant.parts:
                _add(values[variant.kernel, part], point, value)
                if part.kind == INTEGER and part.name in arguments:
                    _add(integers[variant.kernel, part], point, arguments[part.name])
    moved = {owner: at for owner, at in values.items() if _differ(at)}
    return {owner: integers[owner] if len(integers[owner]) == len(at) else at for owner, at in moved.items()}


def in_order(values: Iterable[Value]) -> tuple[Value, ...]:
    """Sort numbers by value, then everything else by its text."""
    return tuple(sorted(values, key=lambda value: _order(value)))


def _order(value: Value) -> tuple[bool, float, str]:
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return number is None, number or 0.0, repr(value)


def _add(at: dict[Point, list[Value]], point: Point, value: Value) -> None:
    values = at.setdefault(point, [])
    if not any(type(value) is type(other) and value == other for other in values):
        values.append(value)


def _differ(at: Mapping[Point, list[Value]]) -> bool:
    """Return whether any two points have different sets of values."""
    return len({frozenset((type(value), value) for value in values) for values in at.values()}) > 1


def _shared(every: Sequence[list[Value]]) -> list[Value]:
    """Return the values that all points with several values have in common."""
    several = [values for values in every if len(values) > 1]
    return [value for value in several[0] if all(value in values for values in several)] if several else []


def _combine(values: list[Value]) -> Value:
    """Return the only value, or one text that represents all `values`."""
    return values[0] if len(values) == 1 else repr(sorted(values, key=repr))

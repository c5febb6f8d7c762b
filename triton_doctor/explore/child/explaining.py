"""What was seen at the points of a state, to moves: the axes that a part follows, its formula, and how it grows.

Parts that follow the same axes are explained together, by the attribution of any sweep over these axes alone: formulas
are made from some of the points and tested at others, and further points are called while two formulas differ. At the
end some calls change all sizes at once; what a formula does not give there is not told.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, replace
from math import gcd
from typing import TYPE_CHECKING

from triton_doctor.explore.child.inner_calls import ARGUMENT
from triton_doctor.explore.child.vary import find_moved, is_watched
from triton_doctor.explore.model import InnerCall, Move, Place
from triton_doctor.runtime.dry.sweep.attribution import Attribution, Explanation, LearnedFormulas, in_order
from triton_doctor.runtime.dry.sweep.dimensions import Dimension
from triton_doctor.runtime.dry.sweep.size_formulas import Growth, size
from triton_doctor.runtime.sweep_event import CONSTEXPR, INTEGER, TUNING_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from triton_doctor.explore.child.splitting import SymbolAxes
    from triton_doctor.explore.child.vary import Alone, Owner, SizeTrials, Values
    from triton_doctor.runtime.dry.sweep.dimensions import Point
    from triton_doctor.runtime.dry.sweep.observation import Observation
    from triton_doctor.runtime.dry.sweep.size_formulas import Formula

# Axes over which formulas are looked for, calls that change several, those that change all, and those that decide.
MOST_AXES, MIXED, ALL_MIXED, DECIDING = 4, 6, 3, 6
LARGEST = 4096
UNEXPLAINED = Explanation(follows=(), formula=None, growth=Growth.UNKNOWN, count=None)


@dataclass(frozen=True, kw_only=True)
class Explained:
    """What moved, what did not, and what other functions were given."""

    moves: tuple[Move, ...]
    inner: tuple[InnerCall, ...]
    unmoved: tuple[tuple[str, str, str], ...]


def explain(trials: SizeTrials, axes: Mapping[str, SymbolAxes]) -> Explained:
    """Explain each part that moved by the `axes` of the symbols that move it."""
    followed: defaultdict[Owner, list[str]] = defaultdict(list)
    for symbol, alone in trials.alone.items():
        for owner in sorted(alone.moved, key=repr):  # a set has another order in each process
            followed[owner].append(symbol)
    groups: defaultdict[tuple[tuple[str, str], ...], list[Owner]] = defaultdict(list)
    for owner, symbols in followed.items():
        groups[tuple((symbol, axes[symbol].find(owner).name) for symbol in symbols)].append(owner)
    explained = {
        owner: explanation
        for group, owners in groups.items()
        for owner, explanation in _explain_group(trials, group, owners).items()
    }
    moving = [symbol for symbol in trials.symbols if any(symbol in symbols for symbols in followed.values())]
    if len(moving) > 1:
        for point in _mix(trials, moving, ALL_MIXED, seed=1):
            trials.at(point)
    seen = [(point, each.values) for point, each in trials.seen.items() if each is not None]
    changed = find_moved(each.classes for each in trials.seen.values() if each is not None)
    moves, inner = [], []
    for group, owners in groups.items():
        for owner in owners:
            explanation = explained.get(owner, UNEXPLAINED)
            formula, growth = explanation.formula, explanation.growth
            if formula is None and len(group) == 1 and _runs_at_powers(trials.alone[group[0][0]]):
                # Rounding a power of two changes nothing, so that no formula is certain: the size itself is the least.
                formula, growth = size(group[0][1]), Growth.LOG2
            if formula is not None and not _gives_all(formula, owner, seen, trials.symbols, dict(group)):
                formula, growth = None, explanation.growth
            if formula is None and growth is Growth.UNBOUNDED and _are_powers(owner, seen):
                growth = Growth.LOG2
            text = "" if formula is None else str(formula)
            if owner[1].kind == ARGUMENT:
                inner.append(_inner_call(owner, tuple(name for _, name in group)))
            elif owner in changed:
                moves.append(_move(trials, owner, dict(group), text, growth))
    constant = {owner: None for _, values in seen for owner in values if owner not in followed}
    inner += [_inner_call(owner, ()) for owner in constant if owner[1].kind == ARGUMENT and is_watched(owner)]
    return Explained(
        moves=tuple(moves),
        inner=tuple(inner),
        unmoved=tuple(
            (f"{kernel.module}:{kernel.name}", part.kind, part.name)
            for kernel, part in constant
            if part.kind in (CONSTEXPR, TUNING_KEY)
        ),
    )


def _explain_group(
    trials: SizeTrials, group: Sequence[tuple[str, str]], owners: Sequence[Owner]
) -> dict[Owner, Explanation]:
    """Explain parts that follow the same symbols, each given with the name of its axis."""
    symbols = [symbol for symbol, _ in group]
    if len(symbols) > MOST_AXES:
        return {}
    dimensions = tuple(_dimension(name, trials.alone[symbol]) for symbol, name in group)
    held_back = {
        _project(trials, {symbol: size}, symbols)
        for symbol in symbols
        for size in sorted(trials.alone[symbol].ran)[2::4]
        if size != trials.state.size(symbol)
    }
    is_worth = any(map(is_watched, owners)) and not trials.is_brief
    if len(symbols) > 1 and is_worth:
        mixed = list(_mix(trials, symbols, MIXED, seed=0))
        for point in mixed:
            trials.at(point)
        held_back |= {_project(trials, dict(zip(trials.symbols, point, strict=True)), symbols) for point in mixed[::3]}
    memory, asked = LearnedFormulas(), 0
    chosen = frozenset(owners)
    while True:
        attribution = Attribution(dimensions, frozenset(held_back), _narrow(trials, symbols, chosen), memory)
        if not is_worth or asked >= DECIDING:
            break
        points = [_extend(trials, point, symbols) for point in attribution.find_points()]
        points = [point for point in points if point not in trials.seen][: DECIDING - asked]
        for point in points:
            trials.at(point)
        asked += len(points)
        if not points or trials.is_late:
            break
    return {owner: attribution.explain(*owner) for owner in owners if owner in attribution.moving}


def _dimension(name: str, alone: Alone) -> Dimension:
    """Return the sizes that are allowed: any where all ran that were tried, else multiples, or those that ran."""
    sizes = sorted(alone.ran)
    if not alone.failed:
        return Dimension(name=name, first=1, last=max(LARGEST, sizes[-1]))
    step = gcd(*sizes)
    if step > 1 and not any(size % step == 0 for size in alone.failed):
        return Dimension(name=name, sizes=tuple(sorted({*sizes, *range(step, LARGEST, step)})))
    return Dimension(name=name, sizes=tuple(sizes))


def _runs_at_powers(alone: Alone) -> bool:
    return all(size.bit_count() == 1 for size in alone.ran)


def _mix(trials: SizeTrials, symbols: Sequence[str], count: int, *, seed: int) -> Iterable[Point]:
    """Points at which all of `symbols` have sizes other than those of the state, each of which ran alone."""
    chance = random.Random(seed)
    sizes = {symbol: list(trials.alone[symbol].ran)[1:] for symbol in symbols}
    return dict.fromkeys(
        tuple(
            chance.choice(sizes[symbol]) if symbol in sizes else size
            for symbol, size in zip(trials.symbols, trials.base_point, strict=True)
        )
        for _ in range(count)
    )


def _project(trials: SizeTrials, sizes: Mapping[str, int], symbols: Sequence[str]) -> Point:
    return tuple(sizes.get(symbol, trials.state.size(symbol)) for symbol in symbols)


def _extend(trials: SizeTrials, point: Point, symbols: Sequence[str]) -> Point:
    sizes = dict(zip(symbols, point, strict=True))
    return tuple(sizes.get(symbol, size) for symbol, size in zip(trials.symbols, trials.base_point, strict=True))


def _narrow(trials: SizeTrials, symbols: Sequence[str], owners: frozenset[Owner]) -> dict[Point, Observation]:
    """Return what was seen where all but `symbols` are as in the state: of the kernels of `owners` these parts."""
    kernels = {kernel for kernel, _ in owners}
    narrowed = {}
    for point, seen in trials.seen.items():
        sizes = dict(zip(trials.symbols, point, strict=True))
        if seen is None or _extend(trials, _project(trials, sizes, symbols), symbols) != point:
            continue
        narrowed[_project(trials, sizes, symbols)] = replace(
            seen.observation,
            variants=tuple(
                replace(
                    variant,
                    parts=tuple((part, value) for part, value in variant.parts if (variant.kernel, part) in owners),
                )
                for variant in seen.observation.variants
                if variant.kernel in kernels
            ),
        )
    return narrowed


def _are_powers(owner: Owner, seen: Sequence[tuple[Point, Values]]) -> bool:
    """Return whether all values of `owner` are powers of two."""
    every = [value for _, values in seen for _, value in values.get(owner, ())]
    return all(type(value) is int and value.bit_count() == 1 for value in every)


def _gives_all(
    formula: Formula,
    owner: Owner,
    seen: Sequence[tuple[Point, Values]],
    symbols: Sequence[str],
    names: Mapping[str, str],
) -> bool:
    """Return whether `formula` gives a value of `owner` at every point."""
    for point, values in seen:
        if owner in values:
            sizes = {names[symbol]: size for symbol, size in zip(symbols, point, strict=True) if symbol in names}
            try:
                value = formula.evaluate(sizes)
            except ZeroDivisionError:
                return False
            if (type(value), value) not in values[owner]:
                return False
    return True


def _move(trials: SizeTrials, owner: Owner, names: Mapping[str, str], formula: str, growth: Growth) -> Move:
    kernel, part = owner
    every = [seen.values.get(owner, frozenset()) for seen in trials.seen.values() if seen is not None]
    along = {
        name: {size: own for size in sorted(ran) if (own := ran[size].values.get(owner))}
        for symbol, name in names.items()
        for ran in [trials.alone[symbol].ran]
    }
    return Move(
        kernel=kernel.name,
        kernel_path=kernel.path,
        kernel_line=kernel.line,
        part=part.kind,
        name=part.name,
        follows=tuple(names.values()),
        formula=formula,
        growth=Growth.BOUNDED.value if part.kind == INTEGER else growth.value,
        values=in_order(dict.fromkeys(value for values in every for _, value in values)),
        sizes={name: tuple(at) for name, at in along.items()},
        along={
            name: tuple(
                found[0] if len(found) == 1 else list(found)
                for own in at.values()
                for found in [in_order(value for _, value in own)]
            )
            for name, at in along.items()
        },
    )


def _inner_call(owner: Owner, follows: tuple[str, ...]) -> InnerCall:
    called, part = owner
    argument, _, axis = part.name.rpartition(".")
    place = Place(argument=argument, axis=int(axis)) if argument else Place(argument=part.name)
    return InnerCall(entry=called.name, place=place, follows=follows)

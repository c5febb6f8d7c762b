"""The axes that a symbol stands for: which of them can differ, and which one moves a part.

`length` is axis 1 of `q` and of `k`, since both are called so. The call is made again with another size of each alone.
Where it launches the same kernels, that axis is free: it has a name of its own, `k_length`, and what moves then follows
it. Axes that are not free stay tied: what ties them is in `Axis.tied_to` where it is known.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from triton_doctor.explore.child.state import CONSTRUCTOR
from triton_doctor.explore.child.vary import find_moved, follow_symbol, is_watched
from triton_doctor.explore.model import Axis, Place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from triton_doctor.explore.child.state import State
    from triton_doctor.explore.child.vary import Alone, Owner, SizeTrials
    from triton_doctor.explore.model import Provenance

# Symbols that stand for a position, not for a name of the source.
POSITION = re.compile(r"last|axis\d+of\d+")


@dataclass(frozen=True, kw_only=True)
class SymbolAxes:
    """The axes of one symbol: `whole` is all of them together; `free` move what they move alone; `rest` are tied."""

    whole: Axis
    free: Mapping[str, tuple[Axis, frozenset[Owner]]]
    rest: Axis | None

    @property
    def all(self) -> tuple[Axis, ...]:
        """Return all of them, the whole first."""
        return (self.whole, *(axis for axis, _ in self.free.values()), *(() if self.rest is None else (self.rest,)))

    def find(self, owner: Owner) -> Axis:
        """Return the axis that moves `owner`: all together where several move it."""
        moving = [axis for axis, moved in self.free.values() if owner in moved]
        if len(moving) == 1:
            return moving[0]
        return self.rest if self.rest is not None and not moving else self.whole


class AxisNames:
    """Names of axes that are identifiers, none given twice."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._given: set[str] = set()

    def name_symbol(self, symbol: str, places: Sequence[Place]) -> str:
        """Return the name of all that `symbol` stands for."""
        if self._is_name(symbol):
            return self._give(symbol)
        return self._give(_spell(places[0]) if places else symbol)

    def name_places(self, symbol: str, places: Sequence[Place]) -> str:
        """Return a name for some places of a symbol, by the first of them."""
        first = places[0]
        if first.axis is None or not self._is_name(symbol):
            return self._give(_spell(first))
        return self._give(f"{first.argument.removeprefix(CONSTRUCTOR)}_{symbol}")

    def _is_name(self, symbol: str) -> bool:
        return symbol.isidentifier() and POSITION.fullmatch(symbol) is None

    def _give(self, wanted: str) -> str:
        name = re.sub(r"\W", "_", wanted)
        name = f"{name}_" if keyword.iskeyword(name) else name
        name = name if name.isidentifier() else f"size_{name}"
        number, given = 2, name
        while given in self._given:
            given, number = f"{name}_{number}", number + 1
        self._given.add(given)
        return given


def split_symbol(trials: SizeTrials, symbol: str, names: AxisNames) -> SymbolAxes:
    """Find which places of `symbol` can have another size alone, if it moves anything that matters."""
    alone = trials.alone[symbol]
    places = places_of(trials.state, symbol)
    watched = [owner for owner in alone.moved if is_watched(owner)]
    free: dict[Place, frozenset[Owner]] = {}
    is_tested = len(places) == 1
    if len(places) > 1 and watched:
        sizes = _telling_sizes(alone, watched)
        base = next(iter(alone.ran.values())).values
        is_tested = True
        for place in sorted(places, key=lambda place: place.axis is None):
            if trials.is_late:
                is_tested = False
                break
            tried = (trials.try_state(detach(trials.state, symbol, place, size)) for size in sizes)
            seen = next((each for each in tried if each is not None), None)
            if seen is not None:
                free[place] = find_moved((base, seen.values))
            elif len(places) == 2:
                break
    rest = [place for place in places if place not in free]
    whole = _axis(trials, symbol, names.name_symbol(symbol, places), places, is_forced=is_tested and not free)
    if not free:
        return SymbolAxes(whole=whole, free={}, rest=None)
    return SymbolAxes(
        whole=whole,
        free={
            axis.name: (axis, moved)
            for place, moved in free.items()
            for axis in [_axis(trials, symbol, names.name_places(symbol, [place]), [place], is_forced=is_tested)]
        },
        rest=_axis(trials, symbol, names.name_places(symbol, rest), rest, is_forced=is_tested) if rest else None,
    )


def places_of(state: State, symbol: str) -> list[Place]:
    """Return where `symbol` is a size, those of constructors and configs first."""
    found = [
        Place(argument=path, axis=None if spec.kind == "int" else index)
        for path, spec in state.specs.items()
        for index, own in enumerate(spec.axes)
        if own == symbol
    ]
    return sorted(found, key=lambda place: (_tie(state, place) is None, place.axis is None))


def detach(state: State, symbol: str, place: Place, size: int) -> State:
    """Return a state in which `place` has a symbol of its own, with `size`."""
    changed = state.copy(f"{place.argument} alone")
    own = f"{symbol} of {place.argument}.{place.axis}"
    spec = changed.specs[place.argument]
    position = 0 if place.axis is None else place.axis
    axes = (*spec.axes[:position], own, *spec.axes[position + 1 :])
    changed.specs[place.argument] = msgspec.structs.replace(spec, axes=axes)
    changed.sizes[own] = size
    return changed


def _telling_sizes(alone: Alone, watched: Sequence[Owner]) -> list[int]:
    """Return up to two sizes at which most of the key parts `watched` differ from their values at the first size.

    One is smaller than the first size and one larger: another axis may bound this one from above or from below.
    """
    (base, first), *others = ((size, seen.values) for size, seen in alone.ran.items())
    telling = sorted(others, key=lambda each: -len(find_moved((first, each[1])).intersection(watched)))
    smaller = [size for size, _ in telling if size < base]
    larger = [size for size, _ in telling if size > base]
    return [*smaller[:1], *larger[:1]]


def _axis(trials: SizeTrials, symbol: str, name: str, places: Sequence[Place], *, is_forced: bool) -> Axis:
    own = [(tie.provenance, tie.what) for tie in trials.state.ties if tie.symbol == symbol]
    alone = trials.alone[symbol]
    # What is free of the others is free of what ties them.
    is_alone = len(places) == 1 < len(places_of(trials.state, symbol))
    # Nor is it known to be tied where the time was used up: nothing may be cleared by that.
    ties = [] if is_alone or (trials.is_cut and not is_forced) else own
    if is_forced:
        made = [tie for place in places if (tie := _tie(trials.state, place)) is not None]
        ties += made
        # What a constructor was given decides the shapes of parameters; what only a call is given cannot.
        ties += [("parameter", axis) for axis in follow_symbol(alone)] if made else []
    return Axis(
        name=name,
        size=trials.state.size(symbol),
        places=tuple(places),
        tied_to=tuple(dict.fromkeys(ties)),
        ran=len(alone.ran),
    )


def _tie(state: State, place: Place) -> tuple[Provenance, str] | None:
    """Return what kind of model's size a place is: an argument of a constructor, or an attribute of a config."""
    parent = state.specs.get(place.argument.rpartition(".")[0])
    if parent is not None and parent.kind == "config":
        return "config", place.argument
    if place.argument.startswith(CONSTRUCTOR) or (parent is not None and parent.kind == "object"):
        return "constructor", place.argument
    return None


def _spell(place: Place) -> str:
    argument = place.argument.removeprefix(CONSTRUCTOR)
    return argument if place.axis is None else f"{argument}_{place.axis}"

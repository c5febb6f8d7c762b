"""Sizes as products of axes, so that what cancels is seen to cancel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping


class Leanings(NamedTuple):
    """What speaks for a size that follows the data, and what for one that follows the model."""

    pro: frozenset[str] = frozenset()
    con: frozenset[str] = frozenset()

    def and_(self, other: Leanings) -> Leanings:
        """Both."""
        return Leanings(self.pro | other.pro, self.con | other.con)


@dataclass(frozen=True, slots=True)
class Root:
    """A tensor whose axes have no known origin: `name` in a function of a file, which is what tells two apart.

    `rank` is its number of axes, where the function shows it; `weight` where it lives as long as the model, `item`
    where it was taken out of another by a number; `told` is what launches and neighbours say of its axes.
    """

    path: str
    function: str
    name: str
    line: int
    rank: int | None = field(compare=False)
    weight: bool = field(compare=False)
    item: bool = field(default=False, compare=False)
    told: Mapping[int, Leanings] = field(default_factory=dict, compare=False)


class Axis(NamedTuple):
    """One axis of a root; negative positions count from the end, and only where the rank is unknown."""

    root: Root
    position: int


class Rest(NamedTuple):
    """The product of a root's axes without the first `front` and the last `back`."""

    root: Root
    front: int
    back: int


Atom: TypeAlias = Axis | Rest


def axis(root: Root, position: int) -> Axis:
    """The axis, counted from the front where the rank is known."""
    if position < 0 and root.rank is not None and root.rank + position >= 0:
        position += root.rank
    return Axis(root, position)


class Size(NamedTuple):
    """`number * product(over) / product(under)`; atoms are sorted, `number` None where it is not known."""

    over: tuple[Atom, ...] = ()
    under: tuple[Atom, ...] = ()

    def times(self, other: Size) -> Size:
        """The product of both."""
        return _cancelled([*self.over, *other.over], [*self.under, *other.under])

    def divided_by(self, other: Size) -> Size:
        """The quotient of both."""
        return _cancelled([*self.over, *other.under], [*self.under, *other.over])


def _cancelled(over: list[Atom], under: list[Atom]) -> Size:
    remaining = list(under)
    progress = True
    while progress:  # an end axis that is taken off a Rest bares the next one
        progress = False
        for atom in list(remaining):
            if atom in over:
                over.remove(atom)
            elif (taken := _take(over, atom)) is not None:
                index, left = taken
                over[index : index + 1] = left
            else:
                continue
            remaining.remove(atom)
            progress = True
    return Size(tuple(sorted(over, key=_order)), tuple(sorted(remaining, key=_order)))


def _order(atom: Atom) -> tuple[str, str, str, int, int]:
    position, back = (atom.position, -1) if isinstance(atom, Axis) else (atom.front, atom.back)
    return (atom.root.path, atom.root.function, atom.root.name, position, back)


def _take(over: list[Atom], atom: Atom) -> tuple[int, list[Atom]] | None:
    """Take an end axis out of a Rest of the same root: what is left of it, and where it stood."""
    if not isinstance(atom, Axis):
        return None
    for index, whole in enumerate(over):
        if not isinstance(whole, Rest) or whole.root != atom.root:
            continue
        rank = whole.root.rank
        if atom.position == whole.front:
            return index, _rest(whole.root, whole.front + 1, whole.back)
        if atom.position == -1 - whole.back or (rank is not None and atom.position == rank - 1 - whole.back):
            return index, _rest(whole.root, whole.front, whole.back + 1)
    return None


def _rest(root: Root, front: int, back: int) -> list[Atom]:
    if root.rank is not None:
        if front + back >= root.rank:
            return []
        if front + back == root.rank - 1:
            return [Axis(root, front)]
    return [Rest(root, front, back)]


def whole(root: Root) -> Size:
    """The number of elements of a root."""
    return Size(tuple(_rest(root, 0, 0)))

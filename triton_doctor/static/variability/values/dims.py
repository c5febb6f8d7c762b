"""Sizes as products of axes, so that equal factors can be cancelled."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from triton_doctor.static.variability.hints.axis_context import Toward

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from triton_doctor.static.variability.hints.hints import AppliedHint
    from triton_doctor.static.variability.values.lattice import AbstractNumber


# The kind of a note that nobody wrote: the function's own unpacking of the shape.
UNPACKING = "unpacking"
# Any number of axes in a note.
OPEN = "..."


class ShapeNote(NamedTuple):
    """The axes of a tensor as its author names them; `...` is any number of axes, "" an unclear one.

    `quote` is the note as written; `kind` is its place: comment, docstring, annotation, assert or pattern. `meanings`
    tell whether each axis follows the data or the model. `is_row_major` unless the function tests another axis than the
    last for a stride of 1. `path` is its file if that is not the function's. `is_weight` if the tensor is said to live
    as long as the model.
    """

    axes: tuple[str, ...]
    quote: str
    kind: str
    line: int
    meanings: tuple[bool | None, ...] = ()
    is_row_major: bool = True
    path: str | None = None
    is_weight: bool = False

    @property
    def rank(self) -> int | None:
        """The number of axes; None if unknown."""
        return None if OPEN in self.axes else len(self.axes)

    @property
    def is_written(self) -> bool:
        """Whether the author wrote it for readers, unlike an unpacking of the shape."""
        return self.kind != UNPACKING

    @property
    def clause(self) -> str:
        """The note as a part of a sentence: `its comment says (B, T, D)`."""
        return f"its {self.kind} says {self.quote}"

    def at(self, position: int) -> int | None:
        """Return the index in `axes` of the axis at `position`, from the end if negative; None if it has none."""
        count = len(self.axes)
        if OPEN not in self.axes:
            return position % count if -count <= position < count else None
        start = self.axes.index(OPEN)
        if 0 <= position < start:
            return position
        return count + position if -(count - start) < position < 0 else None

    def toward(self, position: int) -> Toward | None:
        """Return what the axis at `position` follows, according to the note."""
        at = self.at(position)
        meaning = self.meanings[at] if at is not None else None
        return None if meaning is None else Toward.DATA if meaning else Toward.MODEL


def _no_note() -> None:
    return None


# Never mutated. Not frozen, because that makes construction three times as slow, and each argument has one.
@dataclass(unsafe_hash=True)
class Origin:
    """A tensor whose axes have no known origin, identified by its file, function and `name`.

    `shown_rank` is the number of its axes that the function shows, `called_rank` the number that a called function
    shows. `weight` if it lives as long as the model; `item` if it was taken out of another tensor by a number. `hints`
    are those from launches and neighbors, by axis. `read_note` returns the author's note of its shape; it is called
    when an axis is needed.
    """

    path: str
    function: str
    name: str
    line: int
    shown_rank: int | None = field(compare=False)
    weight: bool = field(compare=False)
    item: bool = field(default=False, compare=False)
    hints: Mapping[int, frozenset[AppliedHint]] = field(default_factory=dict, compare=False)
    read_note: Callable[[], ShapeNote | None] = field(default=_no_note, compare=False, repr=False)
    called_rank: int | None = field(default=None, compare=False)

    @cached_property
    def note(self) -> ShapeNote | None:
        """The author's note of its shape."""
        return self.read_note()

    @cached_property
    def rank(self) -> int | None:
        """The number of axes that the function shows or the author wrote."""
        if self.shown_rank is not None or self.note is None:
            return self.shown_rank
        return self.note.rank

    @property
    def is_attribute(self) -> bool:
        """Whether an object keeps it as an attribute: one of `self`, or `cache.offsets`."""
        return self.function == "self" or "." in self.name

    @property
    def known_rank(self) -> int | None:
        """The number of axes, including what a called function shows if nothing else does."""
        return self.called_rank if self.rank is None else self.rank

    @cached_property
    def axes(self) -> dict[int, AbstractNumber]:
        """The cache of its axes by position; all follow from the other fields."""
        return {}

    def with_rank(self, count: int) -> Origin:
        """Return the same origin with `count` axes, as a function that receives it shows.

        A note with another number of axes is dropped as that of another shape. The number is no hint.
        """
        if self.shown_rank is not None or self.called_rank is not None:
            return self
        found = self._by_rank.get(count)
        if found is None:
            is_of_another = self.note is not None and self.note.rank not in (None, count)
            read_note = _no_note if is_of_another else self.read_note
            found = self._by_rank[count] = replace(self, called_rank=count, read_note=read_note)
        return found

    @cached_property
    def _by_rank(self) -> dict[int, Origin]:
        """The cache of `with_rank`."""
        return {}

    def item_called(self, name: str) -> Origin:
        """Return an item of it called `name`: none of its axes is known."""
        return Origin(self.path, self.function, name, self.line, None, self.weight, self.item)

    def bound_to(self, name: str, line: int, *, is_weight: bool) -> Origin:
        """Return the same origin, which the function calls `name` from `line` on."""
        return Origin(
            self.path, self.function, name, line, self.shown_rank, is_weight, self.item, self.hints, self.read_note
        )


class Dim(NamedTuple):
    """One axis of a root; a negative position counts from the end, and is used only if the rank is unknown."""

    root: Origin
    position: int


class RemainingDims(NamedTuple):
    """The product of a root's axes without the first `front` and the last `back`."""

    root: Origin
    front: int
    back: int


DimFactor: TypeAlias = Dim | RemainingDims


def axis(root: Origin, position: int) -> Dim:
    """Return the axis, counted from the front if the rank is known."""
    if position < 0 and root.rank is not None and root.rank + position >= 0:
        position += root.rank
    return Dim(root, position)


class DimProduct(NamedTuple):
    """`product(over) / product(under)`; both are sorted."""

    over: tuple[DimFactor, ...] = ()
    under: tuple[DimFactor, ...] = ()

    def times(self, other: DimProduct) -> DimProduct:
        """Return the product of both."""
        return _cancelled([*self.over, *other.over], [*self.under, *other.under])

    def divided_by(self, other: DimProduct) -> DimProduct:
        """Return the quotient of both."""
        return _cancelled([*self.over, *other.under], [*self.under, *other.over])


def _cancelled(over: list[DimFactor], under: list[DimFactor]) -> DimProduct:
    remaining = list(under)
    progress = True
    while progress:  # removing an end axis from a RemainingDims exposes the next one
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
    return DimProduct(tuple(sorted(over, key=_order)), tuple(sorted(remaining, key=_order)))


def _order(atom: DimFactor) -> tuple[str, str, str, int, int]:
    position, back = (atom.position, -1) if isinstance(atom, Dim) else (atom.front, atom.back)
    return (atom.root.path, atom.root.function, atom.root.name, position, back)


def _take(over: list[DimFactor], atom: DimFactor) -> tuple[int, list[DimFactor]] | None:
    """Remove an end axis from a RemainingDims of the same root: return what is left, and its index."""
    if not isinstance(atom, Dim):
        return None
    for index, whole in enumerate(over):
        if not isinstance(whole, RemainingDims) or whole.root != atom.root:
            continue
        rank = whole.root.rank
        if atom.position == whole.front:
            return index, _rest_factors(whole.root, whole.front + 1, whole.back)
        if atom.position == -1 - whole.back or (rank is not None and atom.position == rank - 1 - whole.back):
            return index, _rest_factors(whole.root, whole.front, whole.back + 1)
    return None


def _rest_factors(root: Origin, front: int, back: int) -> list[DimFactor]:
    if root.rank is not None:
        if front + back >= root.rank:
            return []
        if front + back == root.rank - 1:
            return [Dim(root, front)]
    return [RemainingDims(root, front, back)]


def whole(root: Origin) -> DimProduct:
    """Return the number of elements of a root."""
    return rest(root, 0, 0)


def rest(root: Origin, front: int, back: int) -> DimProduct:
    """Return the product of a root's axes without the first `front` and the last `back`."""
    return DimProduct(tuple(_rest_factors(root, front, back)))

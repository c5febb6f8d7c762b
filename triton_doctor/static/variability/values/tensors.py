"""Tensors: the sizes of axes, their products, and strides of contiguous layouts."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from triton_doctor.static.variability.hints.axis_context import AxisContext
from triton_doctor.static.variability.hints.hints import apply_hints
from triton_doctor.static.variability.values.dims import Dim, DimFactor, DimProduct, Origin, RemainingDims, axis, whole
from triton_doctor.static.variability.values.lattice import (
    FEW,
    FIXED,
    UNKNOWN,
    AbstractNumber,
    Note,
    Term,
    Variability,
    join,
)
from triton_doctor.static.variability.values.values import SymbolicValue, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence


ONE = FIXED._replace(literal=1, low=1, high=1, is_integer=True)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def axis_of_root(root: Origin, position: int) -> AbstractNumber:
    """Return an axis of unknown origin, with the hints of its position and its tensor's name."""
    found = root.axes.get(position)
    if found is None:
        found = root.axes[position] = _measured(axis(root, position), is_rest=False)
    return found


def rest_of_root(root: Origin) -> AbstractNumber:
    """Return the number of elements of a root."""
    return of_size(whole(root))


def of_size(size: DimProduct, *, is_rest: bool = False) -> AbstractNumber:
    """Return a product of axes: the greatest kind among the factors of the numerator.

    `is_rest` if it is what division by other axes leaves, and not what a view folds.
    """
    parts = [_measured(atom, is_rest=is_rest) for atom in size.over]
    if not parts:
        return FIXED._replace(size=size, is_integer=True)
    return join(parts)._replace(size=size)


def _measured(atom: DimFactor, *, is_rest: bool) -> AbstractNumber:
    root = atom.root
    path, line = root.path, root.line
    of_weight = partial(AxisContext, is_weight=root.weight, is_attribute=root.weight and root.is_attribute)
    known = partial(of_weight, tensor=root.name, rank=root.rank, is_item=root.item)
    match atom:
        case Dim(_, position):
            text, note = _axis_text(root, position), root.note
            toward = note.toward(position) if note is not None else None
            if note is None or toward is None:
                applied = apply_hints(known(position=position), root.path, root.line)
            elif note.is_written:
                noted = of_weight(noted=toward, is_weight=root.weight or note.is_weight)
                text, path, line = f"{text}: {note.clause}", note.path or root.path, note.line
                applied = apply_hints(noted, path, line)
            else:
                applied = apply_hints(of_weight(unpacked=toward), root.path, note.line)
            if not (root.weight or root.item):
                applied |= root.hints.get(position, frozenset())
        case RemainingDims(_, front, _):
            applied = apply_hints(known(folded_after=front, is_rest=is_rest), root.path, root.line)
            text = f"`{root.name}` is reshaped to fewer axes: this one is the product of the rest"
            if not atom.back and front <= 1:
                text = f"the number of elements of `{root.name}`" + (" behind its first axis" if front == 1 else "")
    return AbstractNumber(
        kind=Variability.UNKNOWN,
        terms=frozenset({Term(applied)}),
        size=DimProduct((atom,)),
        undecided_dims=frozenset({atom}),
        is_integer=True,
        trail=(Note(path, line, text),),
    )


def _axis_text(root: Origin, position: int) -> str:
    if position < 0:
        which = "last" if position == -1 else f"{_ORDINALS[-position - 1] if -position <= 6 else -position}-last"
    else:
        which = _ORDINALS[position] if position < len(_ORDINALS) else f"{position + 1}th"
    return f"the {which} axis of `{root.name}`"


def as_tensor(value: Tensor | SymbolicValue) -> Tensor:
    """Return a symbolic value as a tensor: all axes open, or as many as its function shows."""
    if isinstance(value, Tensor):
        return value
    root = value.root
    if root.rank is not None and root.rank <= 8:
        return Tensor(front=tuple(axis_of_root(root, position) for position in range(root.rank)))
    return Tensor(open=rest_of_root(root))


def axis_at(value: Tensor | SymbolicValue, position: int) -> AbstractNumber:
    """Return `shape[position]`."""
    if isinstance(value, SymbolicValue):
        return axis_of_root(value.root, position)
    if value.shuffled:
        return UNKNOWN
    front, back = value.front, value.back
    if value.open is None:
        axes = front + back
        return axes[position] if -len(axes) <= position < len(axes) else UNKNOWN
    if 0 <= position < len(front):
        return front[position]
    if -len(back) <= position < 0:
        return back[position]
    rest = only_rest(value.open)
    if rest is not None:
        if position >= 0:
            return axis_of_root(rest.root, rest.front + position - len(front))
        return axis_of_root(rest.root, -(rest.back + (-position - len(back))))
    return UNKNOWN


def only_rest(number: AbstractNumber) -> RemainingDims | None:
    """Return the remaining axes of one tensor of which the number is the product; None for another number."""
    size = number.size
    if size is not None and len(size.over) == 1 and not size.under and isinstance(size.over[0], RemainingDims):
        return size.over[0]
    return None


def product(numbers: Sequence[AbstractNumber]) -> AbstractNumber:
    """Return the product of sizes, with its spelling if every factor has one."""
    result = join(numbers) if numbers else ONE
    literals = [number.literal for number in numbers if type(number.literal) is int]
    if len(literals) == len(numbers):
        return whole_number(prod(literals))._replace(trail=result.trail)
    size: DimProduct | None = DimProduct()
    for number in numbers:
        own = number.size if number.size is not None else (DimProduct() if number.literal == 1 else None)
        size = size.times(own) if size is not None and own is not None else None
    return result._replace(size=size, literal=...)


def scaled(axis: AbstractNumber, times: AbstractNumber) -> AbstractNumber:
    """Return an axis that is repeated."""
    return axis if times.literal == 1 else times if axis.literal == 1 else product([axis, times])


def whole_number(number: int) -> AbstractNumber:
    """Return a literal size, or one computed from literals."""
    if number == 1:
        return ONE
    power = number > 0 and number & (number - 1) == 0
    return FIXED._replace(literal=number, low=number, high=number, power=power, is_integer=True)


def numel(value: Tensor | SymbolicValue) -> AbstractNumber:
    """Return the number of elements."""
    if isinstance(value, SymbolicValue):
        return rest_of_root(value.root)
    tensor = value
    return product([*tensor.front, *([tensor.open] if tensor.open is not None else []), *tensor.back])


def left(total: AbstractNumber, others: Sequence[AbstractNumber]) -> AbstractNumber:
    """Return what `total` divided by `others` leaves, with common factors cancelled."""
    if total.size is None:
        if any(other.suggests_data for other in others):
            return UNKNOWN._replace(trail=total.trail)
        return join([total, *others])._replace(size=None) if total.decide() is not Variability.PER_CALL else total
    size = total.size
    for other in others:
        before = size
        if other.size is not None:
            size = size.divided_by(other.size)
        if (other.size is None or size.over == before.over) and other.suggests_data:
            # It may be the same data through another tensor: then nothing is left of it.
            return UNKNOWN._replace(trail=total.trail)
    remaining = of_size(size)
    return remaining if remaining.trail else remaining._replace(trail=total.trail)


def stride(value: Tensor | SymbolicValue, position: int) -> AbstractNumber:
    """Return `stride(position)`: the product of the axes after it, if the layout is known to be contiguous."""
    if isinstance(value, SymbolicValue) or not value.contiguous:
        return UNKNOWN._replace(trail=value.trail if isinstance(value, Tensor) else value.number.trail)
    if position == -1:
        return ONE
    if value.open is None:
        axes = value.front + value.back
        behind = product(axes[position % len(axes) + 1 :]) if axes else ONE
    elif position < 0:
        return product([axis_at(value, later) for later in range(position + 1, 0)])
    else:
        behind = left(numel(value), [axis_at(value, earlier) for earlier in range(position + 1)])
    if behind.size is not None and any(isinstance(atom, RemainingDims) and atom.front for atom in behind.size.over):
        # After the first axis of a tensor of unknown rank there may be only the width.
        return of_size(behind.size, is_rest=True)._replace(trail=behind.trail)
    return behind


def rank(value: Tensor | SymbolicValue) -> int | None:
    """Return the number of axes; None if unknown."""
    if isinstance(value, SymbolicValue):
        return value.root.rank
    return len(value.front) + len(value.back) if value.open is None else None


def number_of_axes(value: Tensor | SymbolicValue) -> AbstractNumber:
    """Return `x.ndim`."""
    known = rank(value)
    return FEW if known is None else whole_number(known)

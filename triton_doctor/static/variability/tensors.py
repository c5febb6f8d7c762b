"""Tensors and their axes: indexing shapes, reshaping, allocating, strides, by the rules of torch."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.static.variability.axis_context import AxisContext
from triton_doctor.static.variability.dims import Dim, DimFactor, DimProduct, Origin, RemainingDims, axis, whole
from triton_doctor.static.variability.hints import apply_hints
from triton_doctor.static.variability.lattice import FEW, FIXED, UNKNOWN, AbstractNumber, Term, Variability, join
from triton_doctor.static.variability.trace import Note
from triton_doctor.static.variability.values import AxisOrder, SymbolicValue, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.python.function import Function
    from triton_doctor.static.variability.values import Value

ONE = FIXED._replace(literal=1, low=1, high=1)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def axis_of_root(root: Origin, position: int) -> AbstractNumber:
    """An axis without known origin: what its position and its tensor's name suggest."""
    return _measured(axis(root, position), is_rest=False)


def rest_of_root(root: Origin) -> AbstractNumber:
    """The number of elements of a root."""
    return of_size(whole(root))


def of_size(size: DimProduct, *, is_rest: bool = False) -> AbstractNumber:
    """A product of axes: the greatest kind among those that are left above the line.

    `is_rest` where it is what other axes leave, not what a view folds.
    """
    parts = [_measured(atom, is_rest=is_rest) for atom in size.over]
    if not parts:
        return FIXED._replace(size=size)
    return join(parts)._replace(size=size)


def _measured(atom: DimFactor, *, is_rest: bool) -> AbstractNumber:
    root, line = atom.root, atom.root.line
    known = partial(AxisContext, tensor=root.name, rank=root.rank, is_weight=root.weight, is_item=root.item)
    match atom:
        case Dim(_, position):
            text, note = _axis_text(root, position), root.note
            toward = note.toward(position) if note is not None else None
            if note is None or toward is None:
                applied = apply_hints(known(position=position), root.path, root.line)
            elif note.is_written:
                noted = AxisContext(noted=toward, is_weight=root.weight)
                text, line = f"{text}: {note.says}", note.line
                applied = apply_hints(noted, root.path, note.line)
            else:
                applied = apply_hints(AxisContext(unpacked=toward, is_weight=root.weight), root.path, note.line)
            if not (root.weight or root.item):
                applied |= root.hints.get(position, frozenset())
        case RemainingDims(_, front, _):
            applied = apply_hints(known(folded_after=front, is_rest=is_rest), root.path, root.line)
            text = f"`{root.name}` is reshaped to fewer axes: this one is the product of the rest"
            if atom == RemainingDims(root, 0, 0):
                text = f"the number of elements of `{root.name}`"
    return AbstractNumber(
        kind=Variability.UNKNOWN,
        terms=frozenset({Term(applied)}),
        size=DimProduct((atom,)),
        atoms=frozenset({atom}),
        trail=(Note(root.path, line, text),),
    )


def _axis_text(root: Origin, position: int) -> str:
    if position < 0:
        which = "last" if position == -1 else f"{_ORDINALS[-position - 1] if -position <= 6 else -position}-last"
    else:
        which = _ORDINALS[position] if position < len(_ORDINALS) else f"{position + 1}th"
    return f"the {which} axis of `{root.name}`"


def as_tensor(value: Tensor | SymbolicValue) -> Tensor:
    """A thing as a tensor: all its axes open, or as many as its function shows."""
    if isinstance(value, Tensor):
        return value
    root = value.root
    if root.rank is not None and root.rank <= 8:
        return Tensor(front=tuple(axis_of_root(root, position) for position in range(root.rank)))
    return Tensor(open=rest_of_root(root))


def axis_at(value: Tensor | SymbolicValue, position: int) -> AbstractNumber:
    """`shape[position]`."""
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
    rest = _only_rest(value.open)
    if rest is not None:
        if position >= 0:
            return axis_of_root(rest.root, rest.front + position - len(front))
        return axis_of_root(rest.root, -(rest.back + (-position - len(back))))
    return UNKNOWN


def _only_rest(scalar: AbstractNumber) -> RemainingDims | None:
    size = scalar.size
    if size is not None and len(size.over) == 1 and not size.under and isinstance(size.over[0], RemainingDims):
        return size.over[0]
    return None


def product(scalars: Sequence[AbstractNumber]) -> AbstractNumber:
    """The product of sizes, its spelling kept where every factor has one."""
    result = join(scalars) if scalars else ONE
    size: DimProduct | None = DimProduct()
    for scalar in scalars:
        own = scalar.size if scalar.size is not None else (DimProduct() if scalar.literal == 1 else None)
        size = size.times(own) if size is not None and own is not None else None
    return result._replace(size=size, literal=...)


def numel(value: Tensor | SymbolicValue) -> AbstractNumber:
    """The number of elements."""
    if isinstance(value, SymbolicValue):
        return rest_of_root(value.root)
    tensor = value
    return product([*tensor.front, *([tensor.open] if tensor.open is not None else []), *tensor.back])


def reshape(value: Tensor | SymbolicValue, sizes: Sequence[AbstractNumber | None]) -> Tensor:
    """`view` or `reshape` to `sizes`; None stands for the -1, which is what the others leave."""
    if sizes.count(None) != 1:
        return Tensor(front=tuple(size if size is not None else UNKNOWN for size in sizes), contiguous=True)
    left = _left(numel(value), [size for size in sizes if size is not None])
    return Tensor(front=tuple(left if size is None else size for size in sizes), contiguous=True)


def _left(total: AbstractNumber, others: Sequence[AbstractNumber]) -> AbstractNumber:
    """What the other axes leave of `total`: those that it holds itself cancel."""
    if total.size is None:
        if any(other.leans_to_data for other in others):
            return UNKNOWN._replace(trail=total.trail)
        return join([total, *others])._replace(size=None) if total.decide() is not Variability.PER_CALL else total
    size = total.size
    for other in others:
        before = size
        if other.size is not None:
            size = size.divided_by(other.size)
        if (other.size is None or size.over == before.over) and other.leans_to_data:
            # It may be the same data, seen through another tensor: then nothing is left of it.
            return UNKNOWN._replace(trail=total.trail)
    left = of_size(size)
    return left if left.trail else left._replace(trail=total.trail)


def flatten(value: Tensor | SymbolicValue, start: int, end: int) -> Tensor:
    """`flatten(start, end)`: the axes from start to end, both included, become one."""
    tensor = as_tensor(value)
    if tensor.open is None:
        axes = tensor.front + tensor.back
        first, last = start % max(len(axes), 1), end % max(len(axes), 1)
        merged = product(axes[first : last + 1])
        return Tensor(front=(*axes[:first], merged, *axes[last + 1 :]), contiguous=True)
    if start < 0 or end >= 0:
        return Tensor(open=UNKNOWN)
    head = tuple(axis_at(tensor, position) for position in range(start))
    tail = tuple(axis_at(tensor, position) for position in range(end + 1, 0))
    return Tensor(front=(*head, _left(numel(tensor), [*head, *tail]), *tail), contiguous=True)


def stride(value: Tensor | SymbolicValue, position: int) -> AbstractNumber:
    """`stride(position)`: the product of the axes after it, where the layout is known to be contiguous."""
    if isinstance(value, SymbolicValue) or not value.contiguous:
        return UNKNOWN._replace(trail=value.trail if isinstance(value, Tensor) else value.scalar.trail)
    if position == -1:
        return ONE
    if value.open is None:
        axes = value.front + value.back
        behind = product(axes[position % len(axes) + 1 :]) if axes else ONE
    elif position < 0:
        return product([axis_at(value, later) for later in range(position + 1, 0)])
    else:
        behind = _left(numel(value), [axis_at(value, earlier) for earlier in range(position + 1)])
    if behind.size is not None and any(isinstance(atom, RemainingDims) and atom.front for atom in behind.size.over):
        # Behind the first axis of a tensor of unknown rank there may be the width alone.
        return of_size(behind.size, is_rest=True)._replace(trail=behind.trail)
    return behind


def shuffled(value: Tensor | SymbolicValue) -> Tensor:
    """Axes in an order that is not known: only how many elements there are is."""
    return Tensor(open=numel(value), shuffled=True)


def of_rank(value: Tensor | SymbolicValue, count: int) -> Tensor | SymbolicValue:
    """The same, now that the number of axes is known to be `count`."""
    if isinstance(value, SymbolicValue) and value.root.rank is None:
        return value._replace(root=replace(value.root, shown_rank=count))
    return value


def moved(value: Tensor | SymbolicValue, order: Sequence[int]) -> Tensor:
    """`permute(order)`: axes change places, and keep their strides."""
    source = of_rank(value, len(order))
    return Tensor(
        front=tuple(axis_at(source, position) for position in order), moved=AxisOrder(source, tuple(enumerate(order)))
    )


def movedim(value: Tensor | SymbolicValue, source: int, destination: int) -> Tensor:
    """`movedim(source, destination)`: one axis goes to another place."""
    count = rank(value)
    if count is None or not (-count <= source < count and -count <= destination < count):
        return shuffled(value)
    order = [position for position in range(count) if position != source % count]
    order.insert(destination % count, source % count)
    return moved(value, order)


def swapped(value: Tensor | SymbolicValue, one: int, other: int) -> Tensor | SymbolicValue:
    """`transpose(one, other)`; of a tensor of unknown rank only the axes in front or at the back are known."""
    tensor = as_tensor(value)
    if tensor.open is None:
        axes = tensor.front + tensor.back
        if not (-len(axes) <= one < len(axes) and -len(axes) <= other < len(axes)):
            return Tensor(open=UNKNOWN)
        order = list(range(len(axes)))
        order[one], order[other] = order[other], order[one]
        return moved(value, order)
    if one >= 0 and other >= 0:
        count = max(one, other) + 1
        head = [axis_at(tensor, position) for position in range(count)]
        left = _left(numel(tensor), head)
        head[one], head[other] = head[other], head[one]
        return Tensor(
            front=tuple(head), open=left, moved=AxisOrder(value, ((one, other), (other, one)), rest_stays=True)
        )
    if one < 0 and other < 0:
        count = -min(one, other)
        tail = [axis_at(tensor, position) for position in range(-count, 0)]
        left = _left(numel(tensor), tail)
        tail[one], tail[other] = tail[other], tail[one]
        return Tensor(
            back=tuple(tail), open=left, moved=AxisOrder(value, ((one, other), (other, one)), rest_stays=True)
        )
    return Tensor(open=UNKNOWN)


def rank(value: Tensor | SymbolicValue) -> int | None:
    """The number of axes, where it is known."""
    if isinstance(value, SymbolicValue):
        return value.root.rank
    return len(value.front) + len(value.back) if value.open is None else None


def number_of_axes(value: Tensor | SymbolicValue) -> AbstractNumber:
    """`x.ndim`."""
    known = rank(value)
    return FEW if known is None else FIXED._replace(literal=known, low=known, high=known)


def axis_of_argument(axis: AbstractNumber, function: Function) -> tuple[SymbolicValue, int] | None:
    """The argument of `function` of which `axis` is one, and its position there; None where it is of none."""
    match axis.size:
        case DimProduct((Dim(root, position),), ()):
            pass
        case _:
            return None
    # What a name is bound to later is another tensor, of a later line.
    if (root.path, root.function, root.line) != (function.path, function.qualname, function.line):
        return None
    if not any(param.name == root.name for param in function.params):
        return None
    return SymbolicValue(root=root, scalar=UNKNOWN, origin=function), position


def elementwise(values: Sequence[Value]) -> Tensor | None:
    """Arithmetic of one tensor and numbers that are written out, which keeps its shape; None for any other."""
    found = [value for value in values if isinstance(value, Tensor)]
    numbers = [value for value in values if isinstance(value, AbstractNumber) and value.literal is not ...]
    return found[0] if len(found) == 1 and len(numbers) == len(values) - 1 else None

"""Views of tensors: their axes, and the strides that these keep, by the rules of torch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.static.variability.values import tensors
from triton_doctor.static.variability.values.dims import rest
from triton_doctor.static.variability.values.lattice import UNKNOWN, AbstractNumber
from triton_doctor.static.variability.values.values import AxisOrder, Shape, SymbolicValue, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence


def shuffled(value: Tensor | SymbolicValue) -> Tensor:
    """Return a tensor whose axes are in unknown order: only the number of elements is known."""
    return Tensor(open=tensors.numel(value), shuffled=True)


def of_rank(value: Tensor | SymbolicValue, count: int) -> Tensor | SymbolicValue:
    """Return the same tensor with `count` axes."""
    if isinstance(value, SymbolicValue):
        return value._replace(root=replace(value.root, shown_rank=count)) if value.root.rank is None else value
    inner = count - len(value.front) - len(value.back)
    left = tensors.only_rest(value.open) if value.open is not None else None
    if left is None or inner < 0:
        return value
    root = left.root if left.root.rank is not None else replace(left.root, shown_rank=left.front + inner + left.back)
    axes = tuple(tensors.axis_of_root(root, left.front + position) for position in range(inner))
    return value._replace(front=(*value.front, *axes, *value.back), back=(), open=None)


def expose(value: Tensor | SymbolicValue, front: int, back: int) -> Tensor | None:
    """Return the tensor with its first `front` and last `back` axes as single ones; None if it has too few."""
    if isinstance(value, SymbolicValue):
        value = tensors.as_tensor(value)
    if value.shuffled:
        return None
    if value.open is None:
        axes = value.front + value.back
        return value._replace(front=axes, back=()) if max(front, back) <= len(axes) else None
    more_front, more_back = max(front - len(value.front), 0), max(back - len(value.back), 0)
    if not (more_front or more_back):
        return value
    left = tensors.only_rest(value.open)
    if left is None:
        return None
    root, start, end = left.root, left.front, left.back
    return value._replace(
        front=value.front + tuple(tensors.axis_of_root(root, start + position) for position in range(more_front)),
        back=tuple(tensors.axis_of_root(root, position - more_back - end) for position in range(more_back))
        + value.back,
        open=tensors.of_size(rest(root, start + more_front, end + more_back)),
    )


def moved(value: Tensor | SymbolicValue, order: Sequence[int]) -> Tensor:
    """Return `permute(order)`: axes change places and keep their strides."""
    source = of_rank(value, len(order))
    return Tensor(
        front=tuple(tensors.axis_at(source, position) for position in order),
        moved=AxisOrder(source, tuple(enumerate(order))),
    )


def movedim(value: Tensor | SymbolicValue, sources: Sequence[int], targets: Sequence[int]) -> Tensor:
    """Return `movedim(sources, targets)`."""
    count = tensors.rank(value)
    if count is None or len(sources) != len(targets) or not all(-count <= at < count for at in (*sources, *targets)):
        return shuffled(value)
    taken = [source % count for source in sources]
    order = [position for position in range(count) if position not in taken]
    for target, source in sorted(zip((target % count for target in targets), taken, strict=True)):
        order.insert(target, source)
    return moved(value, order)


def swapped(value: Tensor | SymbolicValue, axis: int, other: int) -> Tensor | SymbolicValue:
    """Return `transpose(axis, other)`; for unknown rank, only axes at the front or back can be swapped."""
    if axis == other:
        return value
    count = tensors.rank(value)
    if count is not None:
        if not (-count <= axis < count and -count <= other < count):
            return Tensor(open=UNKNOWN)
        order = list(range(count))
        order[axis], order[other] = order[other], order[axis]
        return moved(value, order)
    back = -min(axis, other, 0)
    bare = expose(value, max(axis, other, -1) + 1, back)
    if bare is None:
        return shuffled(value)
    head, tail = list(bare.front), list(bare.back)

    def half(position: int) -> list[AbstractNumber]:
        return head if position >= 0 else tail

    half(axis)[axis], half(other)[other] = half(other)[other], half(axis)[axis]
    return Tensor(
        front=tuple(head),
        back=tuple(tail),
        open=bare.open,
        moved=AxisOrder(value, ((axis, other), (other, axis)), rest_stays=True),
    )


def differ_in_order(options: Sequence[object]) -> bool:
    """Return whether they are one tensor with its axes in different orders: `x` and `x.transpose(1, 2)`."""
    if len(options) == 1:
        return False
    tensors_of = [option.of if isinstance(option, Shape) else option for option in options]
    if not any(isinstance(tensor, Tensor) and _is_view(tensor) for tensor in tensors_of):
        return False
    roots = {_root(tensor) if isinstance(tensor, Tensor | SymbolicValue) else None for tensor in tensors_of}
    return None not in roots and len(roots) == 1


def _is_view(value: Tensor) -> bool:
    return value.moved is not None and not value.moved.is_like


def _root(value: Tensor | SymbolicValue) -> object:
    """Return the tensor that a view is of."""
    while isinstance(value, Tensor) and value.moved is not None and not value.moved.is_like:
        value = value.moved.of
    return value.root if isinstance(value, SymbolicValue) else id(value)


def reshape(value: Tensor | SymbolicValue, sizes: Sequence[AbstractNumber | Shape]) -> Tensor:
    """Return `view` or `reshape` to `sizes`; -1 is what the other sizes leave."""
    others = [size for size in sizes if isinstance(size, Shape) or size.literal != -1]
    if len(others) == len(sizes):
        return of_sizes(sizes)
    counts = [tensors.numel(size.of) if isinstance(size, Shape) else size for size in others]
    left = tensors.left(tensors.numel(value), counts) if len(others) == len(sizes) - 1 else UNKNOWN
    return of_sizes([left if not isinstance(size, Shape) and size.literal == -1 else size for size in sizes])


def of_sizes(sizes: Sequence[AbstractNumber | Shape]) -> Tensor:
    """Return a contiguous tensor of `sizes`; one of them may be a shape that stands for all its axes."""
    starred = [at for at, size in enumerate(sizes) if isinstance(size, Shape)]
    if not starred:
        return Tensor(front=tuple(size for size in sizes if not isinstance(size, Shape)), contiguous=True)
    at = starred[0]
    shape = sizes[at]
    assert isinstance(shape, Shape)
    inner = tensors.as_tensor(shape.of)
    if len(starred) > 1 or inner.shuffled:
        return Tensor(open=UNKNOWN)
    before = tuple(size for size in sizes[:at] if not isinstance(size, Shape))
    after = tuple(size for size in sizes[at + 1 :] if not isinstance(size, Shape))
    return Tensor(front=before + inner.front, open=inner.open, back=inner.back + after, contiguous=True)


def flatten(value: Tensor | SymbolicValue, start: int, end: int) -> Tensor:
    """Return `flatten(start, end)`: the axes from start to end, both included, become one."""
    tensor = tensors.as_tensor(value)
    if tensor.open is None:
        axes = tensor.front + tensor.back
        first, last = start % max(len(axes), 1), end % max(len(axes), 1)
        merged = tensors.product(axes[first : last + 1])
        return Tensor(front=(*axes[:first], merged, *axes[last + 1 :]), contiguous=True)
    if start < 0 or end >= 0:
        return Tensor(open=UNKNOWN)
    head = tuple(tensors.axis_at(tensor, position) for position in range(start))
    tail = tuple(tensors.axis_at(tensor, position) for position in range(end + 1, 0))
    merged = tensors.left(tensors.numel(tensor), [*head, *tail])
    return Tensor(front=(*head, merged, *tail), contiguous=True)


def with_axes(
    value: Tensor | SymbolicValue, position: int, axes: Sequence[AbstractNumber], *, replaced: bool
) -> Tensor | None:
    """Return a view with `axes` inserted at `position`, replacing the axis there if `replaced`.

    None if `value` has no such position. A single axis in place of another keeps its stride, as other axes do.
    """
    bare = expose(value, position + replaced if position >= 0 else 0, max(-position, 0))
    if bare is None:
        return None
    is_split = position < 0 and bare.open is not None
    row = bare.back if is_split else bare.front
    at = position if position >= 0 else len(row) + position
    whole = (*row[:at], *axes, *row[at + replaced :])
    if bare.open is not None:
        keeps = AxisOrder(value, (), rest_stays=True) if replaced and len(axes) == 1 else None
        front, back = (bare.front, whole) if is_split else (whole, bare.back)
        return Tensor(front=front, open=bare.open, back=back, moved=keeps)
    new = (at,) if replaced and len(axes) == 1 else (None,) * len(axes)
    sources = (*range(at), *new, *range(at + replaced, len(row)))
    return Tensor(front=whole, moved=AxisOrder(value, tuple(enumerate(sources))))


def unsqueezed(value: Tensor | SymbolicValue, at: int) -> Tensor | None:
    """Return `unsqueeze(at)`."""
    position = at if at >= 0 else at + 1
    contiguous = value.contiguous is True or None
    if position == 0 and at < 0:
        bare = expose(value, 0, 0)
        if bare is None:
            return None
        last = bare.open is None
        axes = (tensors.ONE,)
        return Tensor(
            front=bare.front + (axes if last else ()),
            open=bare.open,
            back=bare.back + (() if last else axes),
            contiguous=contiguous,
        )
    found = with_axes(value, position, [tensors.ONE], replaced=False)
    return found._replace(contiguous=contiguous) if found is not None else None


def squeezed(value: Tensor | SymbolicValue, at: int | None) -> Tensor | SymbolicValue | None:
    """Return `squeeze(at)`: the axis is removed unless its length is known to be greater than 1.

    An axis of unknown length is removed, as the author intends.
    """
    contiguous = value.contiguous is True or None
    if at is None:
        tensor = tensors.as_tensor(value)
        if tensor.open is not None:
            return None
        kept = tuple(axis for axis in tensor.front + tensor.back if axis.literal != 1)
        return Tensor(front=kept, contiguous=contiguous)
    literal = tensors.axis_at(value, at).literal
    if isinstance(literal, int) and literal != 1:
        return value
    found = with_axes(value, at, (), replaced=True)
    return found._replace(contiguous=contiguous) if found is not None else None


def expanded(value: Tensor | SymbolicValue, sizes: Sequence[AbstractNumber | Shape]) -> Tensor:
    """Return `expand(sizes)`; -1 keeps an axis."""
    if any(isinstance(size, Shape) for size in sizes):
        return of_sizes(sizes)._replace(contiguous=None)
    count = len(sizes)
    own = tensors.rank(value)
    source = of_rank(value, count) if own is None else value
    before = 0 if own is None else count - own  # torch adds axes at the front
    axes: list[AbstractNumber] = []
    sources: list[int | None] = []
    for position, size in enumerate(sizes):
        assert not isinstance(size, Shape)
        at = position - before
        axis = tensors.axis_at(source, at) if at >= 0 else UNKNOWN
        is_kept = size.literal == -1 or axis == size or (axis.literal is not ... and axis.literal == size.literal)
        axes.append(axis if size.literal == -1 else size)
        sources.append(at if at >= 0 and is_kept else None)
    return Tensor(front=tuple(axes), moved=AxisOrder(source, tuple(enumerate(sources))))


def repeated(value: Tensor | SymbolicValue, times: Sequence[AbstractNumber]) -> Tensor:
    """Return `repeat(times)`, axis by axis; with more numbers than axes, torch adds axes at the front."""
    count = tensors.rank(value)
    source = of_rank(value, len(times)) if count is None else value
    before = len(times) - (len(times) if count is None else count)
    if before < 0:
        return Tensor(open=UNKNOWN)
    axes = [
        tensors.scaled(tensors.axis_at(source, at - before), time) if at >= before else time
        for at, time in enumerate(times)
    ]
    return Tensor(front=tuple(axes), contiguous=True)

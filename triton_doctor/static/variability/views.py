"""Views of tensors: which axes they have, and which axes' strides these keep, by the rules of torch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.static.variability import tensors
from triton_doctor.static.variability.dims import rest
from triton_doctor.static.variability.lattice import UNKNOWN, AbstractNumber
from triton_doctor.static.variability.values import AxisOrder, Shape, SymbolicValue, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence


def shuffled(value: Tensor | SymbolicValue) -> Tensor:
    """Axes in an order that is not known: only how many elements there are is."""
    return Tensor(open=tensors.numel(value), shuffled=True)


def of_rank(value: Tensor | SymbolicValue, count: int) -> Tensor | SymbolicValue:
    """The same, now that the number of axes is known to be `count`."""
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
    """The tensor with its first `front` and its last `back` axes known one by one; None where it has no such axes."""
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
    """`permute(order)`: axes change places, and keep their strides."""
    source = of_rank(value, len(order))
    return Tensor(
        front=tuple(tensors.axis_at(source, position) for position in order),
        moved=AxisOrder(source, tuple(enumerate(order))),
    )


def movedim(value: Tensor | SymbolicValue, sources: Sequence[int], targets: Sequence[int]) -> Tensor:
    """`movedim(sources, targets)`: axes go to other places."""
    count = tensors.rank(value)
    if count is None or len(sources) != len(targets) or not all(-count <= at < count for at in (*sources, *targets)):
        return shuffled(value)
    taken = [source % count for source in sources]
    order = [position for position in range(count) if position not in taken]
    for target, source in sorted(zip((target % count for target in targets), taken, strict=True)):
        order.insert(target, source)
    return moved(value, order)


def swapped(value: Tensor | SymbolicValue, one: int, other: int) -> Tensor | SymbolicValue:
    """`transpose(one, other)`; of a tensor of unknown rank only the axes in front or at the back are known."""
    if one == other:
        return value
    count = tensors.rank(value)
    if count is not None:
        if not (-count <= one < count and -count <= other < count):
            return Tensor(open=UNKNOWN)
        order = list(range(count))
        order[one], order[other] = order[other], order[one]
        return moved(value, order)
    back = -min(one, other, 0)
    bare = expose(value, max(one, other, -1) + 1, back)
    if bare is None:
        return shuffled(value)
    head, tail = list(bare.front), list(bare.back)

    def half(position: int) -> list[AbstractNumber]:
        return head if position >= 0 else tail

    half(one)[one], half(other)[other] = half(other)[other], half(one)[one]
    return Tensor(
        front=tuple(head),
        back=tuple(tail),
        open=bare.open,
        moved=AxisOrder(value, ((one, other), (other, one)), rest_stays=True),
    )


def differ_in_order(options: Sequence[object]) -> bool:
    """Whether they are one tensor with its axes in different orders: `x` here, `x.transpose(1, 2)` there."""
    if len(options) == 1:
        return False
    tensors_of = [option.of if isinstance(option, Shape) else option for option in options]
    if not any(isinstance(one, Tensor) and _is_view(one) for one in tensors_of):
        return False
    roots = {_root(one) if isinstance(one, Tensor | SymbolicValue) else None for one in tensors_of}
    return None not in roots and len(roots) == 1


def _is_view(value: Tensor) -> bool:
    return value.moved is not None and not value.moved.is_like


def _root(value: Tensor | SymbolicValue) -> object:
    """What a view is of."""
    while isinstance(value, Tensor) and value.moved is not None and not value.moved.is_like:
        value = value.moved.of
    return value.root if isinstance(value, SymbolicValue) else id(value)


def reshape(value: Tensor | SymbolicValue, sizes: Sequence[AbstractNumber | Shape]) -> Tensor:
    """`view` or `reshape` to `sizes`, of which -1 is what the others leave."""
    others = [size for size in sizes if isinstance(size, Shape) or size.literal != -1]
    if len(others) == len(sizes):
        return of_sizes(sizes)
    counts = [tensors.numel(size.of) if isinstance(size, Shape) else size for size in others]
    left = tensors.left(tensors.numel(value), counts) if len(others) == len(sizes) - 1 else UNKNOWN
    return of_sizes([left if not isinstance(size, Shape) and size.literal == -1 else size for size in sizes])


def of_sizes(sizes: Sequence[AbstractNumber | Shape]) -> Tensor:
    """A contiguous tensor of `sizes`, of which one may be a shape that stands for all its axes."""
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
    """`flatten(start, end)`: the axes from start to end, both included, become one."""
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
    """A view with `axes` at `position` of `value`, in place of the one there if it is `replaced`.

    None where `value` has no such position. One axis in place of another keeps its stride, as the other axes do.
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
    """`unsqueeze(at)`."""
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
    """`squeeze(at)`: the axis goes where its length is 1. It stays where it is known to be longer.

    Where its length is not known it goes: that is what the author calls for.
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
    """`expand(sizes)`: -1 leaves an axis as it is."""
    if any(isinstance(size, Shape) for size in sizes):
        return of_sizes(sizes)._replace(contiguous=None)
    count = len(sizes)
    own = tensors.rank(value)
    source = of_rank(value, count) if own is None else value
    before = 0 if own is None else count - own  # torch adds axes in front
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
    """`repeat(times)`: each axis as often; torch adds axes in front where there are more numbers."""
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

"""The strides of results where torch's fake tensors have others than the GPU: those of axes of length 1.

Kernels are specialized by such a stride as by any other. torch's rules for results without data differ from those by
which it allocates them (TensorIterator.cpp), which these functions follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Their result has the strides of their first tensor, where that has no gaps.
LIKE = frozenset({"clone", "_to_copy", "flip"})


def true_strides(
    func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], tensors: Sequence[Any], result: Any
) -> tuple[int, ...] | None:
    """Return the strides that the result of `func` has on a GPU; None where torch's own are right."""
    if not isinstance(result, torch.Tensor) or 1 not in result.shape or result.dim() < 2 or not tensors:
        return None
    if any(result is tensor for tensor in tensors) or not isinstance(func, torch._ops.OpOverload):
        return None
    if kwargs.get("memory_format") not in (None, torch.preserve_format):
        return None
    name, first = func._schema.name.rpartition("::")[2], tensors[0]
    if name == "masked_fill":
        return _pack(result.shape, reversed(range(result.dim())))
    if name in LIKE or name.endswith("_like"):
        return tuple(first.stride()) if _has_no_gaps(first) else None
    if torch.Tag.pointwise not in func.tags or func._schema.is_mutable:
        return None
    return _allocate(result.shape, tensors, has_number=_has_number(func, args))


def _has_number(func: Any, args: Sequence[Any]) -> bool:
    """Return whether a number takes part as a tensor of no axes does: `x * 2`, `x > 0`, but not `x ** 2`."""
    given = zip(func._schema.arguments, args, strict=False)
    return any(
        isinstance(value, int | float | complex) and (argument.name == "other" or "Tensor" in str(argument.type))
        for argument, value in given
    )


def _allocate(shape: Sequence[int], tensors: Sequence[Any], *, has_number: bool) -> tuple[int, ...]:
    """Return the strides that a result of `shape` gets from operands `tensors`."""
    if not has_number and all(tensor.shape == shape for tensor in tensors):
        if all(tensor.is_contiguous() for tensor in tensors):
            return _pack(shape, reversed(range(len(shape))))
        if len(shape) == 4 and all(tensor.is_contiguous(memory_format=torch.channels_last) for tensor in tensors):
            return _pack(shape, (1, 3, 2, 0))
        strides = {tuple(tensor.stride()) for tensor in tensors}
        if len(strides) == 1 and all(map(_has_no_gaps, tensors)):
            return strides.pop()
    operands = [_broadcast(tensor, shape) for tensor in tensors]
    order = list(reversed(range(len(shape))))
    for moved in range(1, len(order)):
        at = moved
        for other in reversed(range(moved)):
            comparison = _compare(order[other], order[at], operands, shape)
            if comparison > 0:
                order[other], order[at] = order[at], order[other]
                at = other
            elif comparison < 0:
                break
    return _pack(shape, order)


def _pack(shape: Sequence[int], order: Iterable[int]) -> tuple[int, ...]:
    """Return the strides of a tensor without gaps whose axes are in `order`, the innermost first."""
    found, stride = [0] * len(shape), 1
    for axis in order:
        found[axis] = stride
        stride *= max(shape[axis], 1)
    return tuple(found)


def _has_no_gaps(tensor: Any) -> bool:
    """Return whether the elements of `tensor` are next to each other, in any order of its axes."""
    long = sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size != 1)
    expected = 1
    for stride, size in long:
        if stride != expected:
            return False
        expected *= size
    return True


def _broadcast(tensor: Any, shape: Sequence[int]) -> list[int]:
    """Return the strides of `tensor` in a result of `shape`: 0 where it is repeated."""
    new = len(shape) - tensor.dim()
    kept = zip(tensor.shape, tensor.stride(), shape[new:], strict=True)
    return [0] * new + [stride if size == whole else 0 for size, stride, whole in kept]


def _compare(left: int, right: int, operands: Sequence[Sequence[int]], shape: Sequence[int]) -> int:
    """Return 1 where axis `right` belongs inside of axis `left`, -1 where outside, 0 where no operand says."""
    for strides in operands:
        if not strides[left] or not strides[right]:
            continue
        if strides[left] != strides[right]:
            return -1 if strides[left] < strides[right] else 1
        if shape[left] > shape[right]:
            return 1
    return 0

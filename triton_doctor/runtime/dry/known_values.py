"""Values of small tensors, kept on the CPU beside the fakes: lengths, offsets and page tables decide what is launched.

A value belongs to the tensor object. It dies when a kernel, or an operator that is not computed, writes into its
storage.
"""

from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

if TYPE_CHECKING:
    from collections.abc import Iterator

# Elements of an integer or bool tensor whose values are kept: 10 us an operator at the most.
MOST_INTEGERS = 1 << 16
# Of a floating one: scales, and small tables of a configuration.
MOST_FLOATS = 64

_overwritten: weakref.WeakSet[Any] = weakref.WeakSet()


@contextlib.contextmanager
def real_tensors() -> Iterator[None]:
    """Compute on real tensors inside this context: no torch dispatch mode is active."""
    with torch._C._DisableTorchDispatch(), torch.no_grad():
        yield


def is_worth_keeping(tensor: Any) -> bool:
    """Return whether to store the values of `tensor`: it is small and may decide shapes or loops."""
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        return bool(tensor.numel() <= MOST_FLOATS)
    return bool(tensor.numel() <= MOST_INTEGERS and tensor.layout == torch.strided)


def value_of(tensor: Any) -> Any:
    """Return the values of `tensor` as a CPU tensor; None if unknown."""
    if not isinstance(tensor, FakeTensor):
        return tensor if tensor.device.type == "cpu" and tensor.numel() <= MOST_INTEGERS else None
    value = getattr(tensor, "_dry_value", None)
    if value is not None and len(_overwritten):
        with real_tensors():
            if value.untyped_storage() in _overwritten:
                tensor._dry_value = value = None
    return value


def keep_value(tensor: Any, value: Any) -> None:
    """Store the real tensor `value` as the contents of `tensor`, if the shapes match."""
    if tuple(value.shape) == tuple(tensor.shape):
        tensor._dry_value = value


def forget_value(tensor: Any) -> None:
    """Mark the values of `tensor`, and of tensors that share its storage, as unknown."""
    value = getattr(tensor, "_dry_value", None)
    if value is not None:
        with real_tensors():
            _overwritten.add(value.untyped_storage())
        tensor._dry_value = None


def replace_value(tensor: Any, source: Any) -> None:
    """Record that all elements of `tensor` were overwritten with `source`, a tensor or a number."""
    value = value_of(source) if isinstance(source, torch.Tensor) else source
    if value is None:
        return
    with real_tensors():
        held = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
        held = held.copy_(value) if isinstance(value, torch.Tensor) else held.fill_(value)
    tensor._dry_value = held


def is_whole(tensor: Any) -> bool:
    """Return whether `tensor` spans its entire storage."""
    return bool(
        tensor.storage_offset() == 0 and tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    )

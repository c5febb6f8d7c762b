"""Copies of fake tensors: by `copy.deepcopy`, by pickle, and so by torch.save, torch.load and multiprocessing.

torch would copy and pickle the mode with each of them. The values that are kept go along.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from triton_doctor.runtime.dry.values import is_worth_keeping, keep_value, real_tensors, value_of

if TYPE_CHECKING:
    from triton_doctor.runtime.dry.patches import Patches


def patch_copies(patches: Patches) -> None:
    """Have fake tensors copied as tensors are."""
    patches.set(FakeTensor, "__deepcopy__", _deepcopy)
    patches.set(FakeTensor, "__reduce_ex__", _reduce)


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    if id(self) in memo:
        return memo[id(self)]
    with torch.no_grad():
        copied = self.detach().clone()
    copied.requires_grad_(self.requires_grad)
    memo[id(self)] = copied
    for name, value in vars(self).items():
        if name not in vars(copied):
            setattr(copied, name, copy.deepcopy(value, memo))
    if self.grad is not None:
        copied.grad = copy.deepcopy(self.grad, memo)
    return copied


def _reduce(self: Any, protocol: int) -> Any:
    value = value_of(self)
    if value is not None and is_worth_keeping(self):
        with real_tensors():
            value = value.tolist()
    else:
        value = None
    parts = (tuple(self.shape), tuple(self.stride()), self.dtype, str(self.device), self.requires_grad)
    return rebuild_tensor, (*parts, getattr(self, "_is_param", False), value)


def rebuild_tensor(
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    dtype: Any,
    device: str,
    requires_grad: bool,
    is_parameter: bool,
    value: Any,
) -> Any:
    """The tensor that was pickled, in a dry run."""
    tensor = torch.empty_strided(shape, stride, dtype=dtype, device=device)
    if value is not None and isinstance(tensor, FakeTensor):
        with real_tensors():
            held = torch.empty_strided(shape, stride, dtype=dtype).copy_(torch.tensor(value, dtype=dtype))
        keep_value(tensor, held)
    if is_parameter:
        return torch.nn.Parameter(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)

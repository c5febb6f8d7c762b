"""Copies of fake tensors: by `copy.deepcopy`, by pickle, and so by torch.save, torch.load and multiprocessing.

torch would copy and pickle the mode with each of them. The values that are kept go along.
"""

from __future__ import annotations

import copy
import functools
import os
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.utils import _pytree as pytree

from triton_doctor.runtime.dry.file_overlay import locate
from triton_doctor.runtime.dry.known_values import is_worth_keeping, keep_value, real_tensors, value_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.runtime.dry.patches import Patches


def patch_copies(patches: Patches) -> None:
    """Make copying and pickling work for fake tensors."""
    patches.set(FakeTensor, "__deepcopy__", _deepcopy)
    patches.set(FakeTensor, "__reduce_ex__", _reduce)

    class Writer(torch._C.PyTorchFileWriter):  # type: ignore[misc]
        def __init__(self, file: Any, *options: Any) -> None:
            super().__init__(locate(file, to_write=True), *options)

    patches.set(torch._C, "PyTorchFileWriter", Writer)
    for owner, name in (
        (torch.jit.RecursiveScriptModule, "save"),
        (torch.autograd.profiler.profile, "export_chrome_trace"),
    ):
        patches.set(owner, name, _write_at_location(vars(owner)[name]))
    load_script = torch.jit.load
    patches.set(torch.jit, "load", lambda f, *args, **options: load_script(locate(f), *args, **options))
    load = torch.load

    @functools.wraps(load)
    def load_with_values(f: Any, *args: Any, **options: Any) -> Any:
        f = locate(f)
        loaded = load(f, *args, **options)
        # Objects of the program's own are not made a second time.
        if isinstance(f, str | os.PathLike) and options.get("weights_only") is not False:
            _keep_values_of_file(load, f, options, loaded)
        return loaded

    patches.set(torch, "load", load_with_values)


def _write_at_location(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Any, path: Any, *args: Any, **options: Any) -> Any:
        return method(self, locate(path, to_write=True), *args, **options)

    return call


def _keep_values_of_file(load: Callable[..., Any], path: Any, options: dict[str, Any], loaded: Any) -> None:
    """Store the values of small integer tensors in the file `path`, which torch loads without data."""
    leaves = [leaf for leaf in pytree.tree_leaves(loaded) if isinstance(leaf, torch.Tensor)]
    if not any(isinstance(leaf, FakeTensor) and value_of(leaf) is None and is_worth_keeping(leaf) for leaf in leaves):
        return
    try:
        # Mapped into memory: only what is kept is read.
        with unset_fake_temporarily():
            real = load(path, **options | {"map_location": "cpu", "mmap": True})
            values = [leaf for leaf in pytree.tree_leaves(real) if isinstance(leaf, torch.Tensor)]
            kept = [value.detach().clone() if is_worth_keeping(value) else None for value in values]
    except Exception:  # a file of a dry run, whose tensors come with their values, or one that cannot be mapped
        return
    for leaf, value in zip(leaves, kept, strict=False):
        if isinstance(leaf, FakeTensor) and value is not None and leaf.dtype == value.dtype:
            keep_value(leaf, value)


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
    """Create the tensor that a pickle of a dry run describes, with `value` as its known data unless None."""
    tensor = torch.empty_strided(shape, stride, dtype=dtype, device=device)
    if value is not None and isinstance(tensor, FakeTensor):
        with real_tensors():
            held = torch.empty_strided(shape, stride, dtype=dtype).copy_(torch.tensor(value, dtype=dtype))
        keep_value(tensor, held)
    if is_parameter:
        return torch.nn.Parameter(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)

"""Operators whose kernels for CUDA are written in Python: these run, since they launch, and not their fake versions.

torch keeps what torch.library registers in `torch.library._impls`, by name only; the functions are kept here as they
are registered. So a library is to be imported inside the dry run.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _get_current_dispatch_mode

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.runtime.dry.mode import DryMode
    from triton_doctor.runtime.dry.patches import Patches

# torch's own: they have kernels in C++ beneath.
TORCHS = ("aten::", "prims::", "prim::")


class PythonKernels:
    """Functions registered with torch.library, by namespace/operator/dispatch key, as torch names them."""

    def __init__(self) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}

    def register(self, key: str, function: Callable[..., Any]) -> None:
        """Store `function` as the kernel of the operator and dispatch key in `key`."""
        self._functions[key] = function

    def find(self, name: str, overload: str, args: Any, kwargs: Any) -> Callable[..., Any] | None:
        """Return the Python function that implements the operator `name`, e.g. `aten::add`, on CUDA, or None."""
        if not self._functions:
            return None
        full = name.replace("::", "/") + (f".{overload}" if overload else "")
        implementations = torch.library._impls
        key = f"{full}/CUDA"
        if key in self._functions and key in implementations and _is_on_cuda(args, kwargs):
            return self._functions[key]
        key = f"{full}/CompositeExplicitAutograd"
        if key in implementations and not name.startswith(TORCHS):
            return self._functions.get(key)
        return None


def _is_on_cuda(args: Any, kwargs: Any) -> bool:
    return any(
        leaf.fake_device.type == "cuda" if isinstance(leaf, FakeTensor) else leaf.type == "cuda"
        for leaf in pytree.tree_leaves((args, kwargs))
        if isinstance(leaf, FakeTensor | torch.device)
    )


def patch_operators(patches: Patches, mode: DryMode) -> None:
    """Collect the Python kernels registered from now on, and send operators they redispatch to the dry mode."""
    register = torch.library.Library.impl

    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> Any:
        result = register(self, op_name, fn, dispatch_key, **options)
        name = op_name
        if isinstance(op_name, torch._ops.OpOverload):
            overload = op_name._schema.overload_name
            name = op_name._schema.name + (f".{overload}" if overload else "")
        if callable(fn) and not options.get("with_keyset"):
            mode.kernels.register(f"{self.ns}/{name.rpartition('::')[2]}/{dispatch_key or self.dispatch_key}", fn)
        return result

    patches.set(torch.library.Library, "impl", impl)
    before = torch._ops.OpOverload.redispatch

    def redispatch(self: Any, keyset: Any, *args: Any, **kwargs: Any) -> Any:
        is_fake = any(isinstance(leaf, FakeTensor) for leaf in pytree.tree_leaves((args, kwargs)))
        # A set of keys with Python in it comes to the mode by itself: that of a custom operator's autograd, say.
        if not is_fake or keyset.has(torch._C.DispatchKey.Python):
            return before(self, keyset, *args, **kwargs)
        beneath, mode.here.beneath = mode.here.beneath, True
        try:
            with mode, torch._C._AutoDispatchBelowAutograd():
                return self(*args, **kwargs)
        finally:
            mode.here.beneath = beneath

    patches.set(torch._ops.OpOverload, "redispatch", redispatch)
    _patch_what_hides_launches(patches)
    _patch_higher_order(patches, mode)


def _patch_higher_order(patches: Patches, mode: DryMode) -> None:
    """Run torch.cond, while_loop, scan and similar as torch does in eager mode."""
    import torch._higher_order_ops

    for name, module in list(sys.modules.items()):
        if name.startswith("torch._higher_order_ops."):
            # Only asked in order to assert that there is no mode (torch 2.13 scan.py:482).
            patches.set_existing(module, {"_get_current_dispatch_mode": lambda: None})
    dispatched = HigherOrderOperator.__call__

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        eager = self.py_kernels.get(torch._C.DispatchKey.CompositeExplicitAutograd)
        is_dry = _get_current_dispatch_mode() is mode
        return eager(*args, **kwargs) if is_dry and eager is not None else dispatched(self, *args, **kwargs)

    patches.set(HigherOrderOperator, "__call__", __call__)


def _patch_what_hides_launches(patches: Patches) -> None:
    from torch._library import triton as wrapping

    # Under a mode `wrap_triton` gives what torch.compile can trace, and which does not launch.
    patches.set(wrapping, "is_wrap_triton_enabled", lambda: False)
    attention = torch.nn.functional.scaled_dot_product_attention

    def scaled_dot_product_attention(
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Any:
        if torch.overrides.has_torch_function((query, key, value, attn_mask)):
            options = {"scale": scale, "enable_gqa": enable_gqa}
            given = (query, key, value, attn_mask, dropout_p, is_causal)
            return torch.overrides.handle_torch_function(scaled_dot_product_attention, given[:4], *given, **options)
        # C++ asks the CUDA runtime which kernel to take, and takes the slowest without one; on a GPU it is flash.
        if isinstance(query, FakeTensor) and query.is_cuda and attn_mask is None and not enable_gqa:
            halves = (torch.float16, torch.bfloat16)
            if query.dtype in halves and query.dim() == 4 and query.shape[-1] <= 256:
                flash = torch.ops.aten._scaled_dot_product_flash_attention
                return flash(query, key, value, dropout_p, is_causal, scale=scale)[0]
        return attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)

    patches.set(torch.nn.functional, "scaled_dot_product_attention", scaled_dot_product_attention)

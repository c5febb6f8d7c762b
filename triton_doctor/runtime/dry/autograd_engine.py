"""The autograd engine without CUDA streams, and moving modules to a GPU that is not there.

The engine asks the accelerator for the stream of each tensor on CUDA, and raises without one. So while it runs, C++ is
told that fakes are on `meta` (DryMode.device_for); Python that it calls sees cuda again.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import graph
from torch.autograd.function import BackwardCFunction

from triton_doctor.runtime.dry.fake_tensors import move_parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.runtime.dry.mode import DryMode
    from triton_doctor.runtime.dry.patches import Patches


def patch_engine(patches: Patches, mode: DryMode) -> None:
    """Make the backward pass work on fake tensors."""
    within = functools.partial(mode.here.within, "engine")
    run = within(True, graph._engine_run_backward)
    patches.set(graph, "_engine_run_backward", run)
    patches.set(torch.autograd, "_engine_run_backward", run)
    patches.set(BackwardCFunction, "apply", within(False, BackwardCFunction.apply))
    for name in ("register_hook", "register_post_accumulate_grad_hook"):
        patches.set(torch.Tensor, name, _with_hook_outside(getattr(torch.Tensor, name), within))
    hooks = graph.saved_tensors_hooks
    begin_hooks = hooks.__init__

    def __init__(self: Any, pack_hook: Any, unpack_hook: Any) -> None:  # noqa: N807
        # Checkpointing computes again in it.
        begin_hooks(self, pack_hook, within(False, unpack_hook))

    patches.set(hooks, "__init__", __init__)
    patches.set(torch.nn.Module, "_apply", _apply)


def _with_hook_outside(register: Callable[..., Any], within: Callable[..., Any]) -> Callable[..., Any]:
    """Return a `register` whose hooks run as user code, outside the state "inside the autograd engine"."""
    return lambda self, hook: register(self, within(False, hook))


def _apply(self: Any, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
    """Apply `fn` to every parameter and buffer, like torch.nn.Module._apply, but never swap tensor objects."""
    for module in self.modules() if recurse else (self,):
        for key, held in module._parameters.items():
            if held is None:
                continue
            with torch.no_grad():
                moved = fn(held)
            if moved is not held:
                module._parameters[key] = move_parameter(held, moved)
        for key, held in module._buffers.items():
            if held is not None:
                module._buffers[key] = fn(held)
    return self

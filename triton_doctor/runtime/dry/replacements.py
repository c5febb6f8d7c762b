"""Replaces torch.compile, workers of DataLoaders, the start of threads and devices given as numbers in a dry run.

Dynamo cannot trace a program whose inputs are fakes already: what torch.compile wraps runs as it is, and that is said.
Kernels of Triton's in it are seen, those that Inductor would make are not. Batches are made in this process, for fake
tensors do not travel between processes. Modes are of one thread: each thread that starts enters the mode of the run.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
import time
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils.data import DataLoader

from triton_doctor.runtime import hooks
from triton_doctor.runtime.event import WarningEvent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.runtime.dry.mode import DryMode
    from triton_doctor.runtime.dry.patches import Patches

MESSAGE = "torch.compile runs eagerly in a dry run: kernels that Inductor would generate are not seen"
MOVING = frozenset({torch.Tensor.to, torch.Tensor.cuda})


def patch_compile(patches: Patches, mode: DryMode) -> None:
    """Make torch.compile return its function unchanged, with `is_compiling()` True inside; reported once."""
    here = mode.here
    reported: list[bool] = []

    def compile(model: Any = None, **options: Any) -> Any:  # noqa: A001
        if model is None:
            return functools.partial(compile, **options)
        if not reported:
            reported.append(True)
            hooks.emit(WarningEvent(kind="eager", message=MESSAGE, at_ns=time.time_ns()))
        if isinstance(model, type) or options.get("disable"):
            return model
        if isinstance(model, torch.nn.Module):
            model._compiled_call_impl = here.within("compiled", True, model._call_impl)
            return model
        return here.within("compiled", True, model)

    def disable(fn: Any = None, *args: Any, **options: Any) -> Any:
        if fn is None:
            return lambda fn: disable(fn, *args, **options)
        disabled = exempt(fn, *args, **options)
        return here.within("compiled", False, disabled) if inspect.isroutine(disabled) else disabled

    exempt, is_compiling = torch._dynamo.disable, torch.compiler.is_compiling
    patches.set(torch, "compile", compile)
    patches.set(torch._dynamo, "disable", disable)
    patches.set(torch.compiler, "is_compiling", lambda: here.compiled or is_compiling())


OF_WORKERS = {
    "num_workers": 0,
    "prefetch_factor": None,
    "persistent_workers": False,
    "multiprocessing_context": None,
    "worker_init_fn": None,
    "timeout": 0,
    "pin_memory": False,
}
# How many of them come by position: dataset, batch_size, shuffle, sampler, batch_sampler, then num_workers.
POSITIONAL = 5


def patch_loaders(patches: Patches) -> None:
    """Make every DataLoader load in this process, without workers."""
    before = DataLoader.__init__

    @functools.wraps(before)
    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807
        names = before.__code__.co_varnames[1 + POSITIONAL :]
        given = {**dict(zip(names, args[POSITIONAL:], strict=False)), **options}
        before(self, *args[:POSITIONAL], **given | {name: OF_WORKERS[name] for name in OF_WORKERS if name in given})

    patches.set(DataLoader, "__init__", __init__)


@contextlib.contextmanager
def enter_thread(mode: DryMode) -> Iterator[None]:
    """Run this thread dry inside this context."""
    # With threads of its own the engine would lose flags of this one, `_only_lift_cpu_tensors` for example.
    with torch.autograd.set_multithreading_enabled(False), IntegerDevices(), mode:
        yield


def patch_threads(patches: Patches, mode: DryMode) -> None:
    """Run threads that start from now on dry."""
    before = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def _bootstrap_inner(self: Any) -> None:
        with enter_thread(mode):
            before(self)

    patches.set(threading.Thread, "_bootstrap_inner", _bootstrap_inner)


class IntegerDevices(TorchFunctionMode):  # type: ignore[misc]
    """Inside, `device=0`, `.to(0)`, `.cuda(0)` and `torch.device(0)` mean cuda:0.

    Tensors are made of tensors without their values, and none is pinned.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call `func` with a device of torch's, and with memory that is there."""
        kwargs = kwargs or {}
        if type(kwargs.get("device")) is int:
            kwargs = {**kwargs, "device": torch.device("cuda", kwargs["device"])}
        if kwargs.get("pin_memory"):
            # `torch.tensor` asks for memory of a driver before any mode sees it.
            kwargs = {**kwargs, "pin_memory": False}
        if len(args) > 1 and type(args[1]) is int and func in MOVING:
            args = (args[0], torch.device("cuda", args[1]), *args[2:])
        elif func is torch.device and args and type(args[0]) is int:
            args = ("cuda", args[0])
        if func in (torch.tensor, torch.as_tensor) and args and isinstance(args[0], list | tuple):
            leaves = pytree.tree_leaves(args[0])
            if any(isinstance(leaf, torch.Tensor) for leaf in leaves):
                return _make_of_tensors(args[0], leaves, **kwargs)
        return func(*args, **kwargs)


def _make_of_tensors(
    data: Any, leaves: list[Any], dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any
) -> Any:
    """Return `torch.tensor(data)`, whose `leaves` are numbers and tensors of one element; torch would read these."""
    kinds = [leaf.dtype if isinstance(leaf, torch.Tensor) else torch.tensor(leaf).dtype for leaf in leaves]
    dtype = functools.reduce(torch.promote_types, kinds) if dtype is None else dtype
    device = torch.get_default_device() if device is None else device

    def stack(part: Any) -> Any:
        if isinstance(part, list | tuple):
            return torch.stack([stack(inner) for inner in part])
        number = part if isinstance(part, torch.Tensor) else torch.tensor(part)
        return number.detach().reshape(()).to(device, dtype)

    return stack(data).requires_grad_(requires_grad)


def patch_module_to(patches: Patches) -> None:
    """Make `module.to(0)` mean cuda:0."""
    before = torch._C._nn._parse_to

    def _parse_to(*args: Any, **options: Any) -> Any:
        if args and type(args[0]) is int:
            args = (torch.device("cuda", args[0]), *args[1:])
        if type(options.get("device")) is int:
            options["device"] = torch.device("cuda", options["device"])
        return before(*args, **options)

    patches.set(torch._C._nn, "_parse_to", _parse_to)

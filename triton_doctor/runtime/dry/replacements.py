"""What a dry run replaces in torch and Python: torch.compile, the workers of a DataLoader, the start of threads.

Dynamo cannot trace a program whose inputs are fakes already: what torch.compile wraps runs as it is, and that is said.
Kernels of Triton's in it are seen, those that Inductor would make are not. Batches are made in this process, for fake
tensors do not travel between processes. Modes are of one thread: each thread that starts enters the mode of the run.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader

from triton_doctor.runtime import hooks
from triton_doctor.runtime.dry.integer_devices import IntegerDevices
from triton_doctor.runtime.event import WarningEvent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.runtime.dry.mode import DryMode
    from triton_doctor.runtime.dry.patches import Patches

MESSAGE = "torch.compile runs eagerly in a dry run: kernels that Inductor would generate are not seen"


def patch_compile(patches: Patches) -> None:
    """Have torch.compile give back what it is given; the first call is told."""
    told: list[bool] = []

    def compile(model: Any = None, **options: Any) -> Any:  # noqa: A001
        if not told:
            told.append(True)
            hooks.emit(WarningEvent(kind="eager", message=MESSAGE, at_ns=time.time_ns()))
        return model if model is not None else lambda function: function

    patches.set(torch, "compile", compile)


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
    """Have every DataLoader do without workers."""
    before = DataLoader.__init__

    @functools.wraps(before)
    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807
        names = before.__code__.co_varnames[1 + POSITIONAL :]
        given = {**dict(zip(names, args[POSITIONAL:], strict=False)), **options}
        before(self, *args[:POSITIONAL], **given | {name: OF_WORKERS[name] for name in OF_WORKERS if name in given})

    patches.set(DataLoader, "__init__", __init__)


@contextlib.contextmanager
def enter_thread(mode: DryMode) -> Iterator[None]:
    """Make this thread dry."""
    # With threads of its own the engine would lose flags of this one, `_only_lift_cpu_tensors` for example.
    with torch.autograd.set_multithreading_enabled(False), IntegerDevices(), mode:
        yield


def patch_threads(patches: Patches, mode: DryMode) -> None:
    """Have each thread that starts from now on run dry."""
    before = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def _bootstrap_inner(self: Any) -> None:
        with enter_thread(mode):
            before(self)

    patches.set(threading.Thread, "_bootstrap_inner", _bootstrap_inner)

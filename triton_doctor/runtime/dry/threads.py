"""Threads of the program: modes are of one thread, so each that starts enters the mode of the dry run."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

import torch

from triton_doctor.runtime.dry.integer_devices import IntegerDevices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.runtime.dry.mode import DryMode
    from triton_doctor.runtime.dry.patches import Patches


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

"""What surrounds a compile, from torch and the environment, without importing or initializing anything."""

from __future__ import annotations

import os
import sys
import time

from triton_doctor.runtime.program_event import VariableEvent

CACHE_FOLDER = "TRITON_CACHE_DIR"
HELION, INDUCTOR = "Helion", "torch.compile (Inductor)"
LONGEST_ERROR = 160


class CacheFolder:
    """Where this process's environment says that Triton keeps its kernels."""

    def __init__(self, value: str | None) -> None:
        self._value = value

    def moved(self) -> VariableEvent | None:
        """Return the event of a cache folder that changed since the last call, or None."""
        value = os.environ.get(CACHE_FOLDER)
        if value is None or value == self._value:
            return None
        self._value = value
        return VariableEvent(name=CACHE_FOLDER, value=value, setter=_setter(value), at_ns=time.time_ns())


def _setter(folder: str) -> str:
    # Helion's is below Inductor's where HELION_CACHE_DIR names none (helion 1.5 autotuner/local_cache.py:145).
    helions = os.environ.get("HELION_CACHE_DIR") or f"{os.sep}helion"
    if "helion" in sys.modules and f"{helions}{os.sep}triton{os.sep}" in folder:
        return HELION
    # Inductor puts it below its own folder, and both into the environment (torch 2.13 cache_dir_utils.py:13).
    inductors = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    by_inductor = "torch._inductor" in sys.modules and bool(inductors) and folder.startswith(f"{inductors}{os.sep}")
    return INDUCTOR if by_inductor else "the program"


def rank() -> int | None:
    """Return the rank of this process in a distributed job, from the variable RANK, or None."""
    text = os.environ.get("RANK", "")
    return int(text) if text.isdecimal() else None


def is_capturing() -> bool:
    """Return whether the current stream of this thread captures a CUDA graph, without initializing CUDA."""
    torch = sys.modules.get("torch")
    try:
        return torch is not None and torch.cuda.is_initialized() and bool(torch.cuda.is_current_stream_capturing())
    except Exception:  # a torch that is half imported, or was built without CUDA
        return False


def is_dry() -> bool:
    """Return whether this process is in a dry run, in which times are meaningless."""
    session = sys.modules.get("triton_doctor.runtime.dry.dry_process")
    return session is not None and session.active_gpu() is not None


def describe_error(error: BaseException) -> str:
    """Format the type and message of `error`: `OutOfResources: out of resource: shared memory, ...`."""
    try:
        lines = [line.strip() for line in str(error).splitlines()]
    except Exception:  # somebody else's __str__
        lines = []
    messages = [line for line in lines if line and not set(line) <= set("^~ ")] or [""]
    # A CompilationError quotes the source first, and says at its end what is wrong (triton 3.9 errors.py:20).
    text = f"{type(error).__name__}: {messages[-1 if messages[0].startswith('at ') else 0]}".removesuffix(": ")
    return text[:LONGEST_ERROR]

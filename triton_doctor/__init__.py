"""triton-doctor: what makes Triton kernels recompile or run in the wrong mode. Nothing heavy is imported here."""

from __future__ import annotations

from triton_doctor.version import __version__

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from triton_doctor.runtime.recording import Recording
    from triton_doctor.runtime.target import compile_only
    from triton_doctor.runtime.watch import record

__all__ = ["Recording", "__version__", "compile_only", "record"]

_HOMES = {
    "Recording": "triton_doctor.runtime.recording",
    "compile_only": "triton_doctor.runtime.target",
    "record": "triton_doctor.runtime.watch",
}


def __getattr__(name: str) -> object:
    """The public API, imported when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)

"""triton-doctor: what makes Triton kernels recompile or run in the wrong mode. Nothing heavy is imported here.

PYTEST_DONT_REWRITE: else pytest warns where this is imported before it, as by `triton-doctor run -m pytest`.
"""

from __future__ import annotations

from triton_doctor.version import __version__

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from triton_doctor.runtime.compile_target import compile_only
    from triton_doctor.runtime.dry import dry_run
    from triton_doctor.runtime.dry.sweep import sweep
    from triton_doctor.runtime.dry.sweep.swept import Sweep
    from triton_doctor.runtime.guards.guard import Guard, warmed_up
    from triton_doctor.runtime.guards.step_limit import StepLimit, limit_compiling_steps
    from triton_doctor.runtime.guards.unexpected import (
        CompileWarning,
        CompilingStepsError,
        UncheckedError,
        UnexpectedCompileError,
    )
    from triton_doctor.runtime.guards.watched import watch
    from triton_doctor.runtime.live.program_steps import request, step
    from triton_doctor.runtime.prewarm.memory import prewarm, prewarm_cache
    from triton_doctor.runtime.recording import Recording
    from triton_doctor.runtime.watch import record

__all__ = [
    "CompileWarning",
    "CompilingStepsError",
    "Guard",
    "Recording",
    "StepLimit",
    "Sweep",
    "UncheckedError",
    "UnexpectedCompileError",
    "__version__",
    "compile_only",
    "dry_run",
    "limit_compiling_steps",
    "prewarm",
    "prewarm_cache",
    "record",
    "request",
    "step",
    "sweep",
    "warmed_up",
    "watch",
]

_HOMES = {
    "CompileWarning": "triton_doctor.runtime.guards.unexpected",
    "CompilingStepsError": "triton_doctor.runtime.guards.unexpected",
    "Guard": "triton_doctor.runtime.guards.guard",
    "Recording": "triton_doctor.runtime.recording",
    "StepLimit": "triton_doctor.runtime.guards.step_limit",
    "Sweep": "triton_doctor.runtime.dry.sweep.swept",
    "UncheckedError": "triton_doctor.runtime.guards.unexpected",
    "UnexpectedCompileError": "triton_doctor.runtime.guards.unexpected",
    "compile_only": "triton_doctor.runtime.compile_target",
    "dry_run": "triton_doctor.runtime.dry",
    "limit_compiling_steps": "triton_doctor.runtime.guards.step_limit",
    "prewarm": "triton_doctor.runtime.prewarm.memory",
    "prewarm_cache": "triton_doctor.runtime.prewarm.memory",
    "record": "triton_doctor.runtime.watch",
    "request": "triton_doctor.runtime.live.program_steps",
    "step": "triton_doctor.runtime.live.program_steps",
    "sweep": "triton_doctor.runtime.dry.sweep",
    "warmed_up": "triton_doctor.runtime.guards.guard",
    "watch": "triton_doctor.runtime.guards.watched",
}


def __dir__() -> list[str]:
    """List the public names."""
    return list(__all__)


def __getattr__(name: str) -> object:
    """Import a name of the public API when it is first used. Raises AttributeError for other names."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)

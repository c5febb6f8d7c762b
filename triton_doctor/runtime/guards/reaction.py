"""What follows an unexpected compile: a warning at the line that launched, an exception there, or a call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeVar

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.guards.unexpected import CompileWarning, CompilingStepsError, UnexpectedCompileError
from triton_doctor.runtime.hooks.observer import RefusedError

if TYPE_CHECKING:
    from triton_doctor.runtime.event import WarningEvent

Reaction = Literal["warn", "raise"] | Callable[[UnexpectedCompileError], object]
"""A callable gets the error unraised; what it raises, the launch raises."""
StepReaction = Literal["warn", "raise"] | Callable[[CompilingStepsError], object]
"""The same at the end of a step."""


def require_reaction(reaction: object, place: str) -> None:
    """Raise DoctorError if `reaction`, the argument named `place`, is invalid."""
    if reaction not in ("warn", "raise") and not callable(reaction):
        raise DoctorError(f"{place} is {reaction!r}", hint='give "warn", "raise" or a callable')


Told = TypeVar("Told", UnexpectedCompileError, CompilingStepsError)


def react(reaction: Literal["warn", "raise"] | Callable[[Told], object], error: Told) -> None:
    """Warn, call `reaction` or raise, on the launching thread.
    RefusedError wraps the exception that the launch or step is to raise.
    """
    if reaction == "raise":
        raise RefusedError(error)
    try:
        if callable(reaction):
            reaction(error)
        else:
            warnings.warn_explicit(str(error), CompileWarning, *error.place)
    except Exception as raised:
        raise RefusedError(raised) from None


def warn_of(event: WarningEvent) -> None:
    """Emit a warning about the guard itself. Raises RefusedError where warnings are errors."""
    from triton_doctor.runtime.hooks.frames import launch_site

    try:
        site = launch_site()
        if event.kernel is not None:
            path, line = event.kernel.path, event.kernel.line
        else:
            path, line = (__file__, 1) if site is None else (site.path, site.line)
        warnings.warn_explicit(event.message, CompileWarning, path, line)
    except Warning as raised:
        raise RefusedError(raised) from None

"""A compile that was not to happen: in words, and what follows it: a warning, an exception or a call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeVar

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.cause_table import TUNED_AGAIN
from triton_doctor.runtime.cause_wording import describe_recompile
from triton_doctor.runtime.event import AutotuneEvent
from triton_doctor.runtime.hooks.observer import RefusedError
from triton_doctor.runtime.remedies import way_out

if TYPE_CHECKING:
    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.event import CompileEvent, LaunchSite, WarningEvent

NAMES_SHOWN = 10


class CompileWarning(UserWarning):
    """Warns that a kernel compiled, loaded or was tuned against a guard, or that a guard cannot observe it."""


class UncheckedError(RuntimeError):
    """Raised by a guard that was set to raise and could not observe whether kernels compiled."""


class UnexpectedCompileError(RuntimeError):
    """Raised for a kernel that compiled, loaded from disk or was tuned against a guard.

    `recompile` has the event, its cause (`code`), what changed, and the values that it has had.
    """

    def __init__(self, recompile: Recompile, reason: str) -> None:
        """Create the error. `reason` names the rule of the guard that was broken."""
        super().__init__(recompile, reason)
        self.recompile = recompile
        self.reason = reason

    @property
    def event(self) -> CompileEvent | AutotuneEvent:
        """Return the event of the compile or autotuning."""
        return self.recompile.event

    @property
    def place(self) -> tuple[str, int]:
        """Return path and line of the launch, or of the kernel if nothing launched it."""
        return place_of(self.event)

    def __str__(self) -> str:
        """Return three lines: the event with its place, the cause, and the remedy."""
        why = describe_cause(self.recompile)
        lines = [f"{describe_event(self.event)}{at(self.event.launch_site)}, {self.reason}", f"  {why}"]
        return "\n".join([*lines, f"  hint: {way_out(self.recompile)}"])


Reaction = Literal["warn", "raise"] | Callable[[UnexpectedCompileError], object]


class CompilingStepsError(RuntimeError):
    """Raised if more steps or requests compiled, loaded or tuned kernels than the limit allows.

    `compiling` names those of the last `count` that did; `last` is the latest compile, with its cause.
    """

    def __init__(self, kind: str, compiling: tuple[str, ...], count: int, at_most: int, last: Recompile) -> None:
        """Create the error. `kind` is `step` or `request`."""
        super().__init__(kind, compiling, count, at_most, last)
        self.kind, self.compiling, self.count, self.at_most, self.last = kind, compiling, count, at_most, last

    @property
    def place(self) -> tuple[str, int]:
        """Return path and line of the latest compile."""
        return place_of(self.last.event)

    def __str__(self) -> str:
        """Return three lines: how many steps, the latest cause, and the remedy."""
        shown = ", ".join(self.compiling[-NAMES_SHOWN:])
        which = shown if len(self.compiling) <= NAMES_SHOWN else f"at last {shown}"
        summary = (
            f"{len(self.compiling)} of the last {self.count} {self.kind}s compiled, at most {self.at_most} allowed"
        )
        last = self.last
        lines = [
            f"{summary}: {which}",
            f"  {describe_event(last.event)}{at(last.event.launch_site)}, {describe_cause(last)}",
        ]
        return "\n".join([*lines, f"  hint: {way_out(last)}"])


def place_of(event: CompileEvent | AutotuneEvent) -> tuple[str, int]:
    """Return path and line of the launch, or of the kernel if nothing launched it."""
    site = event.launch_site or event.kernel
    return site.path, site.line


def describe_event(event: CompileEvent | AutotuneEvent) -> str:
    """Describe the event: the kernel, what happened, and how long it took."""
    name = f"`{event.kernel.name}`"
    if isinstance(event, AutotuneEvent) and event.cached:
        return f"{name} took its tuning from disk"
    if isinstance(event, AutotuneEvent):
        took = "" if event.duration_us is None else f" for {milliseconds(event.duration_us)}"
        return f"{name} was tuned{took}"
    happened = f"was {event.tier}" if event.tier.startswith("loaded") else event.tier
    return f"{name} {happened}" + ("" if event.dry else f" in {milliseconds(event.duration_us)}")


def describe_cause(recompile: Recompile) -> str:
    """Describe the cause with its code."""
    event = recompile.event
    if recompile.nearest is not None:
        return f"{recompile.code}: {describe_recompile(recompile)}"
    if isinstance(event, AutotuneEvent):
        # The rounds of before the guard are in an Autotuner, which no event leads to.
        key = ", ".join(f"`{name}` is {value!r}" for name, value in event.key)
        return f"{TUNED_AGAIN}: the first round seen here, for a key not tuned before: {key}"
    return f"{recompile.code}: {describe_recompile(recompile)}"


def at(site: LaunchSite | None) -> str:
    """Format the launch site as ` at path:line`; empty if there is none."""
    return "" if site is None else f" at {site.path}:{site.line}"


def milliseconds(duration_us: int) -> str:
    """Format a duration: `39.1 ms`."""
    return f"{duration_us / 1000:.1f} ms"


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

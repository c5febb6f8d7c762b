"""A compile that was not to happen, in words: what happened, where it was launched, why, and the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.runtime.event import AutotuneEvent
from triton_doctor.runtime.remedies import way_out
from triton_doctor.runtime.wording import tell

if TYPE_CHECKING:
    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.event import CompileEvent, LaunchSite


class CompileWarning(UserWarning):
    """A kernel compiled, loaded from disk or was tuned when it was not to, or a guard cannot see whether one did."""


class UncheckedError(RuntimeError):
    """A guard that was to raise could not see whether kernels compiled."""


class UnexpectedCompileError(RuntimeError):
    """A kernel compiled, loaded from disk or was tuned when it was not to.

    `recompile` has the event, its cause (`code`), what changed, and which values it has had.
    """

    def __init__(self, recompile: Recompile, reason: str) -> None:
        """`reason` is the guard's own: what had been promised."""
        super().__init__(recompile, reason)
        self.recompile = recompile
        self.reason = reason

    @property
    def event(self) -> CompileEvent | AutotuneEvent:
        """What happened."""
        return self.recompile.event

    def __str__(self) -> str:
        """Three lines: what and where, why, and the way out."""
        why = tell_cause(self.recompile)
        lines = [f"{tell_event(self.event)}{at(self.event.launch_site)}, {self.reason}", f"  {why}"]
        return "\n".join([*lines, f"  hint: {way_out(self.recompile)}"])


def tell_event(event: CompileEvent | AutotuneEvent) -> str:
    """What happened to which kernel, and how long it took."""
    name = f"`{event.kernel.name}`"
    if isinstance(event, AutotuneEvent):
        took = "" if event.duration_us is None else f" for {milliseconds(event.duration_us)}"
        return f"{name} was tuned{took}"
    happened = f"was {event.tier}" if event.tier.startswith("loaded") else event.tier
    return f"{name} {happened}" + ("" if event.dry else f" in {milliseconds(event.duration_us)}")


def tell_cause(recompile: Recompile) -> str:
    """The code of the cause, and the cause in words."""
    event = recompile.event
    if recompile.nearest is not None:
        return f"{recompile.code}: {tell(recompile)}"
    if isinstance(event, AutotuneEvent):
        # The rounds of before the guard are in an Autotuner, which no event leads to.
        key = ", ".join(f"`{name}` is {value!r}" for name, value in event.key)
        return f"TRD714: the first round seen here, for a key not tuned before: {key}"
    return f"{recompile.code}: {tell(recompile)}"


def at(site: LaunchSite | None) -> str:
    """Where it was launched, after what happened; nothing where nobody launched."""
    return "" if site is None else f" at {site.path}:{site.line}"


def milliseconds(duration_us: int) -> str:
    """`39.1 ms`."""
    return f"{duration_us / 1000:.1f} ms"

"""A compile that was not to happen, in words: what happened, where it was launched, why, and the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.runtime.causes import FIRST, MADE_ANEW
from triton_doctor.runtime.event import AutotuneEvent
from triton_doctor.runtime.wording import tell

if TYPE_CHECKING:
    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.event import CompileEvent, LaunchSite

WAYS_OUT = {
    FIRST: "launch it once before this, in the warm-up",
    "TRD702": "if the kernel does not need the value to compile, drop `tl.constexpr`; else round it to few values",
    "TRD703": "name the parameter in `do_not_specialize`, or warm up each class: 1, divisible by 16, any other",
    "TRD704": "warm up each type, or convert before the launch",
    "TRD705": "launch with tensors aligned alike, or name the parameter in `do_not_specialize_on_alignment`",
    "TRD706": "warm up with None and without",
    "TRD707": "launch with the same options, or warm up each",
    "TRD708": "write the options alike at each launch, in one order",
    "TRD709": "warm up on each device",
    "TRD710": "set debugging and instrumentation before the warm-up, or not at all",
    "TRD711": "leave the source, and the constants that the kernel captures, as they were",
    MADE_ANEW: "make the kernel once, at the top of a module",
    "TRD713": "pass the value with one type",
    "TRD714": "leave what changes with each call out of the autotune key, or round it to few values",
}


class CompileWarning(UserWarning):
    """A kernel compiled, loaded from disk or was tuned when it was not to, or a guard cannot see whether one did."""


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
        if (way_out := WAYS_OUT.get(self.recompile.code)) is not None:
            lines.append(f"  hint: {way_out}")
        return "\n".join(lines)


def tell_event(event: CompileEvent | AutotuneEvent) -> str:
    """What happened to which kernel, and how long it took."""
    name = f"`{event.kernel.name}`"
    if isinstance(event, AutotuneEvent):
        took = "" if event.duration_us is None else f" for {milliseconds(event.duration_us)}"
        return f"{name} was tuned{took}"
    happened = f"was {event.tier}" if event.tier.startswith("loaded") else event.tier
    return f"{name} {happened} in {milliseconds(event.duration_us)}"


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

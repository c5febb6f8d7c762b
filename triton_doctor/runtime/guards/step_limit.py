"""`limit_compiling_steps`: of the last steps or requests only so many may compile, load or tune."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.event import AutotuneEvent, CompileEvent
from triton_doctor.runtime.guards.live_causes import LiveCauses
from triton_doctor.runtime.guards.unexpected import CompilingStepsError, react, require_reaction
from triton_doctor.runtime.program_event import StepEvent

if TYPE_CHECKING:
    from types import TracebackType

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.event import Event
    from triton_doctor.runtime.guards.unexpected import StepReaction


def limit_compiling_steps(at_most: int, *, of: int = 100, on_excess: StepReaction = "warn") -> StepLimit:
    """Limit how many of each `of` consecutive steps or requests may compile, load or tune.

    For long runs after the warm-up: a rare new shape is allowed, a new shape every step is not. Steps are those of
    `triton_doctor.step()` or detected ones; requests those of `triton_doctor.request`. `on_excess`: "warn" issues a
    CompileWarning, "raise" makes the end of the step raise CompilingStepsError, and a callable receives that error.
    Active until the StepLimit is closed. Raises DoctorError for invalid numbers.
    """
    require_reaction(on_excess, "on_excess")
    for name, value, least in (("at_most", at_most, 0), ("of", of, 1)):
        if type(value) is not int or value < least:
            raise DoctorError(f"{name} is {value!r}", hint=f"give a whole number, {least} or more")
    return StepLimit(at_most, of, on_excess)


class StepLimit:
    """A limit on the steps that compile, active until `close`; as a context, it closes at the end."""

    def __init__(self, at_most: int, of: int, reaction: StepReaction) -> None:
        from triton_doctor.runtime import hooks

        hooks.require_triton()
        self._at_most, self._reaction = at_most, reaction
        self._recent: dict[str, deque[str]] = {kind: deque(maxlen=of) for kind in ("step", "request")}
        self._causes = LiveCauses()
        self._last: Recompile | None = None
        hooks.attach(self._receive, count_launches=False)

    def close(self) -> None:
        """Stop counting; closing twice is harmless."""
        from triton_doctor.runtime import hooks

        hooks.detach(self._receive)

    def __enter__(self) -> StepLimit:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _receive(self, event: Event) -> None:
        match event:
            case CompileEvent() | AutotuneEvent(cached=False):
                self._last = self._causes.explain(event)
            case StepEvent():
                recent = self._recent[event.kind]
                recent.extend([""] * min(event.count, recent.maxlen or 0) if not event.compiles_ns else [_name(event)])
                compiling = tuple(filter(None, recent))
                if event.compiles_ns and len(compiling) > self._at_most and self._last is not None:
                    error = CompilingStepsError(event.kind, compiling, len(recent), self._at_most, self._last)
                    react(self._reaction, error)


def _name(event: StepEvent) -> str:
    return event.name or "unnamed" if event.number is None else str(event.number)

"""Whether the warm-up of this process is over: a guard says so, or so much time has passed."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from triton_doctor.runtime.event import AutotuneEvent, CompileEvent
from triton_doctor.runtime.guards.live_causes import LiveCauses
from triton_doctor.runtime.guards.unexpected import UnexpectedCompileError

if TYPE_CHECKING:
    from triton_doctor.runtime.event import Event

log = logging.getLogger("triton_doctor")
_guards: set[object] = set()
_warm_from_s = float("inf")


def is_warm() -> bool:
    """Return whether the warm-up is over: a guard is active, or the time set has passed."""
    return bool(_guards) or time.monotonic() >= _warm_from_s


def begin_warmth(guard: object) -> None:
    """Register `guard`, which was opened after a warm-up."""
    _guards.add(guard)


def end_warmth(guard: object) -> None:
    """Unregister `guard`, which was closed."""
    _guards.discard(guard)


class TimedGuard:
    """From `after_s` seconds after the first launch, logs each compile, load and round of tuning as a warning."""

    def __init__(self, after_s: float) -> None:
        self._causes, self._after_s = LiveCauses(), after_s
        self._reason = f"more than {after_s:g} s after the first launch"
        self._has_begun = False

    def receive(self, event: Event) -> None:
        """Add `event` to the history, and log it if the warm-up is over; a sink."""
        global _warm_from_s
        match event:
            case CompileEvent() | AutotuneEvent(cached=False):
                if not self._has_begun:
                    # The first launch of a kernel compiles it, or loads it.
                    self._has_begun = True
                    _warm_from_s = min(_warm_from_s, time.monotonic() + self._after_s)
                recompile = self._causes.explain(event)
                if is_warm():
                    log.warning("%s", UnexpectedCompileError(recompile, self._reason))

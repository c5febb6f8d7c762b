"""`warmed_up`: from there a kernel that compiles, loads or is tuned is reported, or fails."""

from __future__ import annotations

import time
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.event import AutotuneEvent, CompileEvent, WarningEvent
from triton_doctor.runtime.guards.live_causes import LiveCauses
from triton_doctor.runtime.guards.unexpected import (
    UncheckedError,
    UnexpectedCompileError,
    react,
    require_reaction,
    warn_of,
)
from triton_doctor.runtime.guards.warmth import begin_warmth, end_warmth
from triton_doctor.runtime.launch.readiness import CALL, require_condition, wait_until
from triton_doctor.runtime.program_event import WARMED_UP, MarkEvent

if TYPE_CHECKING:
    from types import TracebackType

    from triton_doctor.runtime.event import Event
    from triton_doctor.runtime.guards.unexpected import Reaction

AFTER_WARMUP = "after the warm-up"


class Guard:
    """A guard that is active from the end of the warm-up until `close`; as a context, it closes at the end."""

    def __init__(self, kernel: str, reaction: Reaction, when: str | None = None) -> None:
        """Start the guard, or with `when` wait until that condition holds."""
        from triton_doctor.runtime import hooks

        hooks.require_triton()
        self._kernel = kernel
        self._reaction = reaction
        self._causes = LiveCauses()
        self._unseen: list[str] = []
        self._is_ready, self._is_closed = when is None, False
        try:
            hooks.attach(self._receive, count_launches=False)
            self._require_sight()
            if when is not None:
                wait_until(when, self._begin)
            else:
                self._begin(time.time_ns())
        except BaseException:
            self._detach()
            raise

    def _begin(self, at_ns: int) -> None:
        """Start to report compiles."""
        from triton_doctor.runtime import hooks

        self._is_ready = True
        if not self._is_closed:
            begin_warmth(self)
            hooks.emit(MarkEvent(name=WARMED_UP, at_ns=at_ns))

    def close(self) -> None:
        """Stop the guard; closing twice is harmless.

        Raises UncheckedError for a guard that raises, if it could not observe whether kernels compiled.
        """
        self._detach()
        self._require_sight()

    def __enter__(self) -> Guard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._detach()
        if error is None:
            self._require_sight()

    def _detach(self) -> None:
        from triton_doctor.runtime import hooks

        self._is_closed = True
        end_warmth(self)
        hooks.detach(self._receive)

    def _require_sight(self) -> None:
        if self._unseen:
            message, self._unseen = self._unseen[0], []
            raise UncheckedError(f"whether kernels compiled could not be checked: {message}")

    def _receive(self, event: Event) -> None:
        match event:
            case CompileEvent() | AutotuneEvent(cached=False) if fnmatchcase(event.kernel.name, self._kernel):
                if not self._is_ready:
                    self._causes.explain(event)
                    return
                react(self._reaction, UnexpectedCompileError(self._causes.explain(event), AFTER_WARMUP))
            case WarningEvent(kind="unseen" | "fault") if self._reaction == "raise":
                # At the end, and not in a launch that nothing was the matter with.
                self._unseen.append(event.message)
            case WarningEvent(kind="unseen" | "fault" | "untried"):
                warn_of(event)


def warmed_up(on_compile: Reaction = "warn", *, kernel: str = "*", when: str | None = None) -> Guard:
    """Report each compile, load from disk and round of tuning from here on: warn, raise, or call `on_compile`.

    For servers at the end of the warm-up, and as a context around what must not compile. `on_compile`: "warn" gives a
    CompileWarning at the line that launched, "raise" an UnexpectedCompileError, and a callable gets that error
    unraised, on the thread that launched, before the kernel runs; what it raises, the launch raises. The error says
    what changed against the kernels in memory. `kernel` is a glob of kernel names; all threads are held to it. Lasts
    until the Guard is closed or the context is left, where "raise" raises UncheckedError if compiles could not be seen.
    With `when`, not from here, but from when a port listens (`port:8000`), an address answers 200 (`http://...`) or a
    line is printed (`line:REGEX`).
    """
    require_reaction(on_compile, "on_compile")
    if when is not None and require_condition(when, "when") == CALL:
        raise DoctorError("when='call' is this call", hint="leave it out")
    return Guard(kernel, on_compile, when)

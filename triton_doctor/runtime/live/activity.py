"""What each thread of this process does now that a launch found in memory would not: compile, build, load, tune.

Nothing is kept while nobody listens, and a launch found in memory never comes here.
"""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.runtime.event import LaunchSite

COMPILING, BUILDING, LOADING, TUNING = "compiling", "building a launcher", "loading a module", "tuning"
# What asks a round of tuning for each config (triton 3.2 autotuner.py:131, 3.9 autotuner.py:143).
TRIAL = "_bench"


@dataclass(slots=True, kw_only=True)
class Activity:
    """One thing that a thread does since `since_ns`, Unix time. `path` is empty where nobody launched.

    `stage` is that of a compile: empty while the key is looked up on disk. `variant` numbers the compiles of the kernel
    from 1; `config` of `configs` is what a round of tuning tries.
    """

    what: str
    kernel: str
    thread: int = 0
    path: str = ""
    line: int = 0
    since_ns: int = 0
    stage: str = ""
    variant: int = 0
    config: int = 0
    configs: int = 0


class Activities:
    """The activities of this process, by thread, the outer ones first. `when_changed` is called after each change."""

    def __init__(self) -> None:
        self.when_changed: Callable[[], None] | None = None
        self._of_thread: dict[int, list[Activity]] = {}
        self._variants: dict[object, int] = {}

    @property
    def are_watched(self) -> bool:
        """Return whether a listener is installed."""
        return self.when_changed is not None

    def now(self) -> list[Activity]:
        """Return all current activities, the oldest first."""
        every = [activity for stack in list(self._of_thread.values()) for activity in list(stack)]
        return sorted(every, key=lambda activity: activity.since_ns)

    def begin(self, what: str, kernel: object, name: str, *, site: LaunchSite | None = None, configs: int = 0) -> None:
        """Record that this thread starts `what` for `kernel`, which is called `name`."""
        if self.when_changed is None:
            return
        if what == COMPILING:
            self._variants[kernel] = self._variants.get(kernel, 0) + 1
        stack = self._of_thread.setdefault(threading.get_ident(), [])
        _forget_ended(stack, what)
        stack.append(
            Activity(
                what=what,
                kernel=name,
                thread=threading.get_native_id(),
                path="" if site is None else site.path,
                line=0 if site is None else site.line,
                since_ns=time.time_ns(),
                variant=self._variants[kernel] if what == COMPILING else 0,
                configs=configs,
            )
        )
        self.when_changed()

    def enter_stage(self, stage: str) -> None:
        """Set the compiler stage of this thread's compile."""
        found = self._innermost(COMPILING)
        if found is not None and self.when_changed is not None:
            found.stage = stage
            self.when_changed()

    def try_config(self) -> None:
        """Count a further config in this thread's autotuning."""
        found = self._innermost(TUNING)
        if found is not None and self.when_changed is not None:
            found.config = min(found.config + 1, found.configs)
            self.when_changed()

    def end(self, what: str) -> None:
        """Remove the innermost activity `what` of this thread, and everything nested in it."""
        stack = self._of_thread.get(threading.get_ident())
        found = self._innermost(what)
        if not stack or found is None:
            return
        del stack[stack.index(found) :]
        if not stack:
            self._of_thread.pop(threading.get_ident(), None)
        if self.when_changed is not None:
            self.when_changed()

    def forget_ended(self) -> None:
        """Remove activities of this thread that an exception ended; called at a launch from memory."""
        stack = self._of_thread.get(threading.get_ident())
        if stack:
            _forget_ended(stack, LOADING)

    def begin_in_child(self) -> None:
        """Clear all activities, since a forked child has a single, new thread."""
        self._of_thread.clear()

    def _innermost(self, what: str) -> Activity | None:
        stack = self._of_thread.get(threading.get_ident(), ())
        return next((activity for activity in reversed(stack) if activity.what == what), None)


def _forget_ended(stack: list[Activity], next_one: str) -> None:
    """Remove activities that cannot contain `next_one`: only building a launcher is nested, in a load."""
    if next_one != BUILDING:
        stack[:] = [activity for activity in stack if activity.what == TUNING]
    if stack and next_one != TUNING and not _is_trying():
        stack[:] = [activity for activity in stack if activity.what != TUNING]


def _is_trying() -> bool:
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if frame.f_code.co_name == TRIAL:
            return True
        frame = frame.f_back
    return False

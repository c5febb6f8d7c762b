"""Reads of unknown data by the program: each is reported once per case, then guessed or refused."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from triton_doctor.runtime import hooks
from triton_doctor.runtime.dry import loops
from triton_doctor.runtime.event import GuessEvent
from triton_doctor.runtime.hooks.frames import launch_site

if TYPE_CHECKING:
    from typing import Literal

    from triton_doctor.runtime.event import LaunchSite


class DryStopError(RuntimeError):
    """The program needs data that a dry run does not have."""


class Questions:
    """The questions of a dry run. `guessed` is whether the case that runs now has asked one."""

    def __init__(self, unknown: Literal["guess", "stop"]) -> None:
        self.unknown = unknown
        self._loops = loops.Loops()
        # In their order.
        self._asked: dict[tuple[str, LaunchSite | None], None] = {}

    @property
    def guessed(self) -> bool:
        """Return whether something was guessed since the current case began."""
        return bool(self._asked)

    @property
    def first(self) -> str | None:
        """Return the first question of the current case with its place, or None."""
        for question, site in self._asked:
            return question if site is None else f"{question} at {site.path}:{site.line}"
        return None

    def begin_case(self) -> None:
        """Forget earlier questions, so that guesses of previous cases do not count for the next."""
        self._asked.clear()

    def guess(self, question: str) -> int:
        """Report that the answer to `question` is guessed. Raises DryStopError if guesses are not allowed.

        Returns 0 for the usual answer, or the number from 1 of another answer, if the usual one would never end
        a loop.
        """
        if self.unknown == "stop":
            self.stop(question)
        self._report(question, stopped=False)
        other, loop = self._loops.count()
        if other == 1:
            times = f"{loops.MOST_ASKED:,} times"
            ended = f"asked {times} by the loop at {loop}, which only data ends, then answered otherwise"
            self._report(f"{question}: {ended}", stopped=False)
        return other

    def stop(self, question: str) -> None:
        """Report that the program cannot go on past `question`, and raise DryStopError."""
        site = self._report(question, stopped=True)
        where = "" if site is None else f" at {site.path}:{site.line}"
        raise DryStopError(f"{question}{where}: data that a dry run does not have")

    def _report(self, question: str, *, stopped: bool) -> LaunchSite | None:
        site = launch_site()
        if (question, site) not in self._asked:
            self._asked[question, site] = None
            hooks.emit(
                GuessEvent(
                    question=question,
                    site=site,
                    stopped=stopped,
                    thread=threading.get_native_id(),
                    at_ns=time.time_ns(),
                )
            )
        return site

"""The stack at a compile: triton's own frames, whose locals hold what its hooks do not tell, and the launch site.

Walked only when something compiled, loaded or tuned, never on a launch that found its kernel in memory.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.event import LaunchSite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

NOT_THE_USERS = frozenset({"triton", "torch", "triton_doctor"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What the stack says about a compile: locals of `compile` and of the launch (empty where there was none).

    `tuning` is whether a round of tuning tries it.
    """

    compiling: dict[str, Any]
    running: dict[str, Any]
    tuning: bool
    site: LaunchSite | None


def read_stack() -> Launch:
    """The launch that is now on this thread's stack."""
    compiling: dict[str, Any] = {}
    running: dict[str, Any] = {}
    tuning = False
    for frame in _callers():
        package = _package(frame)
        # Somebody's listener that calls ours stands between triton and us; the launch is on the far side of triton.
        if package not in NOT_THE_USERS and compiling:
            return Launch(compiling=compiling, running=running, tuning=tuning, site=_site(frame))
        if package == "triton":
            names = frame.f_code.co_varnames
            if frame.f_code.co_name == "compile" and "metadata_group" in names and not compiling:
                compiling = frame.f_locals
            elif frame.f_code.co_name in ("run", "preload") and "device" in names and not running:
                running = frame.f_locals
            tuning |= frame.f_code.co_name == "_bench"
    return Launch(compiling=compiling, running=running, tuning=tuning, site=None)


def launch_site() -> LaunchSite | None:
    """The innermost frame that is neither triton's, nor torch's, nor ours; None on a thread that has none."""
    return next((_site(frame) for frame in _callers() if _package(frame) not in NOT_THE_USERS), None)


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _site(frame: FrameType) -> LaunchSite:
    return LaunchSite(path=frame.f_code.co_filename, line=frame.f_lineno, function=frame.f_code.co_name)

"""Why each event happened, asked as it happens; what a kernel compiled before anybody watched is known too."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from triton_doctor.runtime.causes import History
from triton_doctor.runtime.event import CompileEvent

if TYPE_CHECKING:
    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.event import AutotuneEvent, KernelName

_lock = threading.Lock()


def _renew_lock() -> None:
    # A lock that another thread held when the process forked would never be released in the child.
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


class LiveCauses:
    """The histories of all kernels, one for compiles and one for tuning."""

    def __init__(self) -> None:
        self._histories: dict[tuple[type, KernelName], History] = {}

    def explain(self, event: CompileEvent | AutotuneEvent) -> Recompile:
        """Return the cause of `event` and add `event` to the history of its kernel."""
        place = (type(event), event.kernel)
        with _lock:
            history = self._histories.get(place)
            if history is None:
                history = self._histories[place] = _begin(event)
            recompile = history.explain(event)
            history.remember(event)
            return recompile


def _begin(event: CompileEvent | AutotuneEvent) -> History:
    from triton_doctor.runtime import hooks

    history = History()
    for earlier in hooks.compiled_before(event) if isinstance(event, CompileEvent) else ():
        history.remember(earlier)
    return history

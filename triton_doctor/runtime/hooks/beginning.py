"""The beginning of each compile: when it began on its thread, and what only the first of a process pays.

Every Triton asks a source for its options first (triton 3.2 compiler.py:227, 3.9 compiler.py:242), in the frame of
`compile`, which knows its backend by then.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.hooks.frames import launch_site
from triton_doctor.runtime.hooks.slots import Slot
from triton_doctor.runtime.live.activity import COMPILING

if TYPE_CHECKING:
    from triton_doctor.runtime.hooks.observer import Observer
    from triton_doctor.runtime.live.activity import Activities


class Begun(threading.local):
    """The compile that this thread is in.

    `apart_us` is what it spent on the first compile of a process, before `started_ns`; `source` is what it lowers, once
    it does; `stages` are those that ran, where Triton itself does not time them, and None when nothing was lowered.
    """

    def __init__(self, activities: Activities) -> None:
        self.activities = activities

    started_ns = 0
    apart_us = 0
    source: Any = None
    stages: list[tuple[str, int]] | None = None

    def end(self) -> None:
        """Reset the state at the end of a compile."""
        self.started_ns, self.apart_us, self.source, self.stages = 0, 0, None, None
        self.activities.end(COMPILING)


def watch_beginning(observer: Observer) -> Slot:
    """Detect the start of a compile, and time the one-time costs of the process separately.

    Triton caches both hashes (lru_cache), so computing them earlier costs nothing. Threads that compile at once
    each compute them, and each is timed, until the first has finished.
    """
    from triton.compiler import compiler

    slot = Slot(compiler.ASTSource, "parse_options")
    before = slot.before
    paid = threading.Event()

    def parse_options(self: Any) -> Any:
        begun = observer.begun
        begun.end()
        if observer.activities.are_watched:
            _report_beginning(observer, self)
        if not paid.is_set():
            started_ns = time.perf_counter_ns()
            try:
                triton_key()
                # The backend of this very compile: the active driver is another one, or none, where somebody compiles
                # for a target of his choice.
                backend = sys._getframe(1).f_locals.get("backend")
                if backend is not None:
                    backend.hash()
                paid.set()
            except Exception:
                paid.set()
                observer.fault("timing the first compile")
            begun.apart_us = (time.perf_counter_ns() - started_ns) // 1000
        begun.started_ns = time.perf_counter_ns()
        return before(self)

    slot.fill(parse_options)
    return slot


def _report_beginning(observer: Observer, src: Any) -> None:
    try:
        kernel = observer.name_of(getattr(src, "fn", src))
        observer.activities.begin(COMPILING, kernel, kernel.name, site=launch_site())
    except Exception:
        observer.fault("telling that a compile begins")


def triton_key() -> str:
    """Return the hash of the installed Triton."""
    from triton.compiler import compiler
    from triton.runtime import cache

    return str((getattr(cache, "triton_key", None) or compiler.triton_key)())

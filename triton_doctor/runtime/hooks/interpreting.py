"""Seeing kernels that run in interpreter mode, which no hook of triton's tells."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.hooks.slots import Slot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.runtime.hooks.observer import Observer


def watch_interpreter(observer: Observer) -> Iterator[Slot]:
    """Report each interpreted kernel to `observer`.

    Does nothing unless numpy is imported or TRITON_INTERPRET is set, since the interpreter imports numpy.
    """
    if "numpy" not in sys.modules and not os.environ.get("TRITON_INTERPRET"):
        return
    from triton.runtime.interpreter import GridExecutor

    slot = Slot(GridExecutor, "__call__")
    before = slot.before

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        observer.interpreted(self.fn)
        started_ns = time.perf_counter_ns()
        try:
            return before(self, *args, **kwargs)
        finally:
            observer.interpreted_for(self.fn, time.perf_counter_ns() - started_ns)

    slot.fill(__call__)
    yield slot

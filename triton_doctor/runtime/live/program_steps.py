"""`step()` and `request("id")`: which steps and requests of a program compile.

They cost nothing while nobody listens, and import nothing. Steps are also found where torch's profiler, Lightning or
a Trainer of Hugging Face steps (`hooks/stepping.py`).
"""

from __future__ import annotations

import contextlib
import contextvars
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.program_event import StepEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STEP, REQUEST = "step", "request"
# As many have a line of their own, so that the slowest of each can be found; then those in which nothing compiled share
# one a second.
LINES, SHARED_NS = 10_000, 1_000_000_000
LONGEST_NAME = 200
# What `step()` says comes before what a library was seen to do.
CALLED = "step()"


def step(number: int | None = None) -> None:
    """Mark the end of a step of the program, such as a training iteration; the next step begins.

    The first step begins when recording starts. `number` is the step's; by default steps are numbered from 1. Call
    it at the end of each iteration to see which of them compiled. Does nothing unless a recording is active. Raises
    DoctorError for a negative number.
    """
    if number is not None and (type(number) is not int or number < 0):
        raise DoctorError(f"number is {number!r}", hint="give a whole number, 0 or more")
    steps = _listening_steps()
    if steps is not None:
        steps.end_step(CALLED, number)


@contextlib.contextmanager
def request(name: str) -> Iterator[None]:
    """Mark a request of a server: compiles inside this context, in this thread or task, belong to it."""
    steps = _listening_steps()
    if steps is None:
        yield
        return
    begun = OpenRequest(name=str(name)[:LONGEST_NAME], started_at_ns=time.time_ns())
    token = _request.set(begun)
    try:
        yield
    finally:
        _request.reset(token)
        steps.end_request(begun)


@dataclass(slots=True, kw_only=True, eq=False)
class OpenRequest:
    """A request that is being served."""

    name: str
    started_at_ns: int
    compiles_ns: list[int] = field(default_factory=list)


_request: contextvars.ContextVar[OpenRequest | None] = contextvars.ContextVar("request", default=None)


class Steps:
    """The steps and requests of one process. `emit` receives their events."""

    def __init__(self, emit: Callable[[StepEvent], None], rank: Callable[[], int | None]) -> None:
        self._emit, self._rank = emit, rank
        self.begin()

    def begin(self) -> None:
        """Begin the first step, when recording starts or in a forked child."""
        self._lock = threading.RLock()
        self.number = 0
        self._started_at_ns = time.time_ns()
        self._compiles_ns: list[int] = []
        self._source = ""
        self._lines = {STEP: 0, REQUEST: 0}
        self._quiet: dict[str, StepEvent] = {}

    def note_compile(self, at_ns: int) -> None:
        """Count a compile, load or autotuning at `at_ns` for the current step and request of this thread."""
        serving = _request.get()
        if serving is not None:
            serving.compiles_ns.append(at_ns)
        self._compiles_ns.append(at_ns)

    def end_step(self, source: str, number: int | None = None) -> None:
        """End the current step. If several sources report steps, only `step()` counts, else the first source."""
        with self._lock:
            if self._source != source:
                if self._source and source != CALLED:
                    return
                self._source = source
            self.number = self.number + 1 if number is None else number
            now_ns = time.time_ns()
            started_at_ns, self._started_at_ns = self._started_at_ns, now_ns
            compiles_ns, self._compiles_ns = self._compiles_ns, []
            event = StepEvent(
                kind=STEP,
                number=self.number,
                started_at_ns=started_at_ns,
                at_ns=now_ns,
                compiles_ns=tuple(compiles_ns),
                thread=threading.get_native_id(),
                rank=self._rank(),
            )
            due = self._due(event)
        self._emit_all(due)

    def end_request(self, begun: OpenRequest) -> None:
        """Emit the event of a finished request."""
        event = StepEvent(
            kind=REQUEST,
            name=begun.name,
            started_at_ns=begun.started_at_ns,
            at_ns=time.time_ns(),
            compiles_ns=tuple(begun.compiles_ns),
            thread=threading.get_native_id(),
            rank=self._rank(),
        )
        with self._lock:
            due = self._due(event)
        self._emit_all(due)

    def flush(self) -> None:
        """Emit the steps and requests that were held back to share a line."""
        with self._lock:
            due, self._quiet = list(self._quiet.values()), {}
        self._emit_all(due)

    def _due(self, event: StepEvent) -> list[StepEvent]:
        self._lines[event.kind] += 1
        earlier = self._quiet.pop(event.kind, None)
        if event.compiles_ns or self._lines[event.kind] <= LINES:
            return [event] if earlier is None else [earlier, event]
        shared = event if earlier is None else _share_line(earlier, event)
        if shared.at_ns - shared.started_at_ns >= SHARED_NS:
            return [shared]
        self._quiet[event.kind] = shared
        return []

    def _emit_all(self, events: list[StepEvent]) -> None:
        for event in events:
            self._emit(event)


def _share_line(earlier: StepEvent, later: StepEvent) -> StepEvent:
    return StepEvent(
        kind=earlier.kind,
        number=earlier.number,
        name=earlier.name,
        started_at_ns=min(earlier.started_at_ns, later.started_at_ns),
        at_ns=later.at_ns,
        thread=earlier.thread,
        rank=earlier.rank,
        count=earlier.count + later.count,
    )


def _listening_steps() -> Steps | None:
    hooks = sys.modules.get("triton_doctor.runtime.hooks")
    return None if hooks is None else hooks.open_steps()

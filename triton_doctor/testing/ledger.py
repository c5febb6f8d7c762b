"""Which events of a session belong to which test: its call's are its own, a fixture's and an import's are setup."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.runtime.event import Event


@dataclass(slots=True)
class Phase:
    """A stretch of the session's events, from `start` to `stop`, or to now.

    `own` is that of a test's call; but what `fixtures` did in it, and all of another phase, stands aside.
    """

    start: int
    own: bool
    stop: int | None = None
    fixtures: list[tuple[int, int]] = field(default_factory=list)

    def of_test(self, events: Sequence[Event]) -> list[Event]:
        """Return the events of the test itself in this phase."""
        return [events[index] for index in self._indices(events) if not self._is_aside(index)]

    def aside(self, events: Sequence[Event]) -> list[Event]:
        """Return the events of the test's fixtures in this phase."""
        return [events[index] for index in self._indices(events) if self._is_aside(index)]

    def _indices(self, events: Sequence[Event]) -> range:
        return range(self.start, len(events) if self.stop is None else self.stop)

    def _is_aside(self, index: int) -> bool:
        return not self.own or any(start <= index < stop for start, stop in self.fixtures)


class Ledger:
    """The events of a session, and those of each test in all its attempts. Empty until something is recorded."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._now: Phase | None = None
        self._attempts: dict[str, list[Event]] = {}
        self._claimed: list[Phase] = []

    @contextlib.contextmanager
    def phase(self, *, own: bool) -> Iterator[Phase]:
        """Attribute the events inside the context to a test; `own` means that the phase is the test's call."""
        self._now = phase = Phase(len(self.events), own)
        try:
            yield phase
        finally:
            self._now, phase.stop = None, len(self.events)
            if phase.stop > phase.start:
                self._claimed.append(phase)

    @contextlib.contextmanager
    def fixture(self) -> Iterator[None]:
        """Attribute the events inside the context to a fixture, even if the test requested it while it ran."""
        start = len(self.events)
        try:
            yield
        finally:
            if self._now is not None and len(self.events) > start:
                self._now.fixtures.append((start, len(self.events)))

    def of_test(self, name: str, phase: Phase) -> list[Event]:
        """Return the events of the test `name` in its call `phase`, with the compiles of earlier attempts.

        In a repeated attempt, what the first one compiled is in memory already, although the test still needs it.
        """
        from triton_doctor.runtime.event import CompileEvent

        now = phase.of_test(self.events)
        seen = {(event.kernel, event.key) for event in now if isinstance(event, CompileEvent)}
        earlier = self._attempts.get(name, [])
        missing = [
            event for event in earlier if isinstance(event, CompileEvent) and (event.kernel, event.key) not in seen
        ]
        if now or missing:
            self._attempts[name] = [*missing, *now]
        return [*missing, *now]

    def outside(self) -> list[Event]:
        """Return the events outside of every test's phases, which are mostly from imports."""
        claimed = {index for phase in self._claimed for index in range(phase.start, phase.stop or 0)}
        return [event for index, event in enumerate(self.events) if index not in claimed]

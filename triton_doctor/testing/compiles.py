"""What the `compiles` fixture gives a test: its own compiles so far, to assert on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.runtime.event import CompileEvent
from triton_doctor.runtime.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.event import AutotuneEvent, Event


class Compiles:
    """A recording of the test so far, without its fixtures; each question is answered as of now."""

    def __init__(
        self, events: Callable[[], Sequence[Event]], before: Callable[[Sequence[Event]], Sequence[Event]]
    ) -> None:
        """Observe a test.

        `events` returns the test's own so far; `before` returns the events that preceded given ones.
        """
        self._events, self._before = events, before

    @property
    def recording(self) -> Recording:
        """Return what the test has compiled so far, as a recording."""
        events = list(self._events())
        before = [event for event in self._before(events) if isinstance(event, CompileEvent)]
        return Recording(events=events, before=before)

    def of(self, kernel: str) -> Recording:
        """Return what the test has compiled so far of the kernels whose names match the glob `kernel`."""
        return self.recording.of(kernel)

    @property
    def count(self) -> int:
        """Count the compiles and the loads from disk."""
        return self.recording.count

    @property
    def compiles(self) -> tuple[CompileEvent, ...]:
        """Return each launch that found no kernel in memory, whether it was compiled or loaded from disk."""
        return self.recording.compiles

    @property
    def compiled(self) -> tuple[CompileEvent, ...]:
        """Return the kernels that were compiled, not loaded from disk."""
        return self.recording.compiled

    @property
    def loaded(self) -> tuple[CompileEvent, ...]:
        """Return the kernels that were loaded from disk."""
        return self.recording.loaded

    @property
    def tunings(self) -> tuple[AutotuneEvent, ...]:
        """Return each round of tuning."""
        return self.recording.tunings

    @property
    def causes(self) -> tuple[Recompile, ...]:
        """Return the cause of each compile and round of tuning, given what this process compiled before."""
        return self.recording.causes

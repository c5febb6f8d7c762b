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
        """`events` are the test's own, now; `before` gives what happened before some."""
        self._events, self._before = events, before

    @property
    def recording(self) -> Recording:
        """As it stands now."""
        events = list(self._events())
        before = [event for event in self._before(events) if isinstance(event, CompileEvent)]
        return Recording(events=events, before=before)

    def of(self, kernel: str) -> Recording:
        """What concerns the kernels whose name matches the glob `kernel`, as it stands now."""
        return self.recording.of(kernel)

    @property
    def count(self) -> int:
        """How many compiles, of either tier."""
        return self.recording.count

    @property
    def compiles(self) -> tuple[CompileEvent, ...]:
        """Each launch that found no kernel in memory: compiled or loaded from disk."""
        return self.recording.compiles

    @property
    def compiled(self) -> tuple[CompileEvent, ...]:
        """Those that were really compiled."""
        return self.recording.compiled

    @property
    def loaded(self) -> tuple[CompileEvent, ...]:
        """Those that were found on disk."""
        return self.recording.loaded

    @property
    def tunings(self) -> tuple[AutotuneEvent, ...]:
        """Each round of tuning."""
        return self.recording.tunings

    @property
    def causes(self) -> tuple[Recompile, ...]:
        """Why each compile and each round of tuning happened, against what this process did before."""
        return self.recording.causes

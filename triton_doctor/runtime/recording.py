"""A recording: the events of one process in order of time, or of several, one after the other."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.runtime.causes import explain_all
from triton_doctor.runtime.event import (
    COMPILED,
    LOADED,
    AutotuneEvent,
    CompileEvent,
    EndEvent,
    Event,
    GuessEvent,
    InterpretedEvent,
    KernelName,
    LaunchesEvent,
    WarningEvent,
)
from triton_doctor.runtime.program_event import StepEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.event import Header
    from triton_doctor.runtime.event_log import EventLog


CAUSES_SHOWN = 12


@dataclass(slots=True, kw_only=True, repr=False)
class Recording:
    """The recorded events of one process, in order of time; or of several, one process after the other.

    `headers` describe the processes. `events` grows while they run, and has at most one LaunchesEvent a process; `live`
    counts the launches so far. `before` are compiles of variants that kernels had in memory before the first of their
    compiles in `events`, where known. With several processes, `processes` are their recordings.
    """

    headers: list[Header] = field(default_factory=list)
    events: list[Event] | EventLog = field(default_factory=list)
    live: Callable[[], LaunchesEvent] | None = None
    before: list[CompileEvent] = field(default_factory=list)
    processes: tuple[Recording, ...] = ()

    def __repr__(self) -> str:
        """Return the number of launches, compiles and loads on one line."""
        return f"<{next(self._summarize())}>"

    def __str__(self) -> str:
        """Return a summary: what compiled, and the causes of each kernel's compiles."""
        return "\n".join(self._summarize())

    def _repr_html_(self) -> str:
        """Render the summary as a table of kernels, for notebooks."""
        # Not at module level: a program that is watched imports this module, and shows nothing.
        from triton_doctor.runtime.notebook import summarize_html

        return summarize_html(self)

    def _summarize(self) -> Iterator[str]:
        launches = f"{sum(self.launches.values()):,} launches, " if self.launches else ""
        rounds = f", {len(self.tunings):,} rounds of tuning" if self.tunings else ""
        yield f"Recording: {launches}{len(self.compiled):,} compiled, {len(self.loaded):,} from disk{rounds}"
        counts = Counter((cause.event.kernel.name, cause.code) for cause in self.causes)
        for (kernel, code), count in counts.most_common(CAUSES_SHOWN):
            yield f"  {kernel}: {count:,}x {code}"
        if len(counts) > CAUSES_SHOWN:
            yield f"  and {len(counts) - CAUSES_SHOWN:,} more"

    @property
    def compiles(self) -> tuple[CompileEvent, ...]:
        """Return the launches that found no kernel in memory: compiled or loaded from disk."""
        return tuple(event for event in self.events if isinstance(event, CompileEvent))

    @property
    def compiled(self) -> tuple[CompileEvent, ...]:
        """Return the events of kernels that were compiled, not loaded."""
        return tuple(event for event in self.compiles if event.tier == COMPILED)

    @property
    def loaded(self) -> tuple[CompileEvent, ...]:
        """Return the events of kernels that were loaded from disk."""
        return tuple(event for event in self.compiles if event.tier == LOADED)

    @property
    def tunings(self) -> tuple[AutotuneEvent, ...]:
        """Return the autotuning events."""
        return tuple(event for event in self.events if isinstance(event, AutotuneEvent))

    @property
    def steps(self) -> tuple[StepEvent, ...]:
        """Return the steps and requests of the program."""
        return tuple(event for event in self.events if isinstance(event, StepEvent))

    @property
    def warnings(self) -> tuple[WarningEvent, ...]:
        """Return the warnings about the recording."""
        return tuple(event for event in self.events if isinstance(event, WarningEvent))

    @property
    def guesses(self) -> tuple[GuessEvent, ...]:
        """Return the questions of a dry run that were answered by a guess."""
        return tuple(event for event in self.events if isinstance(event, GuessEvent) and not event.stopped)

    @property
    def stops(self) -> tuple[GuessEvent, ...]:
        """Return the questions of a dry run that stopped the program."""
        return tuple(event for event in self.events if isinstance(event, GuessEvent) and event.stopped)

    @property
    def pretended(self) -> dict[str, str]:
        """Return what a dry run simulated: names and values that describe the GPU."""
        return {name: value for header in self.headers for name, value in header.pretended}

    @property
    def launches(self) -> dict[KernelName, int]:
        """Return the number of launches by kernel, including those that compiled; empty if not counted."""
        total: Counter[KernelName] = Counter()
        counts = [event for event in self.events if isinstance(event, LaunchesEvent)]
        for event in counts + ([] if self.live is None else [self.live()]):
            total.update(dict(event.launches))
        return dict(total)

    @property
    def in_memory(self) -> int:
        """Return the number of launches that found their kernel in memory."""
        missed = sum(1 for event in self.compiles if not event.warmup and not event.direct)
        return max(0, sum(self.launches.values()) - missed)

    @property
    def count(self) -> int:
        """Return the number of compile events, whether compiled or loaded."""
        return sum(isinstance(event, CompileEvent) for event in self.events)

    @property
    def causes(self) -> tuple[Recompile, ...]:
        """Return the cause of each compile and each autotuning, in the order of `events`.

        Processes are analyzed separately, since they do not share kernels in memory.
        """
        if self.processes:
            return tuple(cause for process in self.processes for cause in process.causes)
        return explain_all(self.events, self.before)

    def of(self, kernel: str) -> Recording:
        """Return the part about kernels whose name matches the glob `kernel`, as of now."""
        events = [*self.events, *([] if self.live is None else [self.live()])]
        before = [event for event in self.before if fnmatchcase(event.kernel.name, kernel)]
        processes = tuple(process.of(kernel) for process in self.processes)
        return Recording(
            headers=list(self.headers), events=list(_of(events, kernel)), before=before, processes=processes
        )

    @classmethod
    def read(cls, paths: str | Path | Iterable[str | Path]) -> Recording:
        """Read the recordings in `paths`, files or folders of `*.jsonl`, as one.

        An incomplete last line is skipped with a `torn` warning, other invalid lines with a `damaged` one.
        Raises DoctorError for a file that is no recording.
        """
        processes = cls.read_each(paths)
        if len(processes) == 1:
            return processes[0]
        return cls(
            headers=[header for process in processes for header in process.headers],
            events=[event for process in processes for event in process.events],
            processes=processes,
        )

    @classmethod
    def read_each(cls, paths: str | Path | Iterable[str | Path]) -> tuple[Recording, ...]:
        """Read like `read`, but return the processes separately; a file may hold several."""
        # Not at module level: a program that is watched imports this module, and reads nothing.
        from triton_doctor.runtime.recording_files import read_recordings

        reading = read_recordings([paths] if isinstance(paths, str | Path) else paths)
        if reading.errors:
            raise reading.errors[0]
        return reading.processes


def _of(events: Iterable[Event], kernel: str) -> Iterator[Event]:
    for event in events:
        match event:
            case CompileEvent() | AutotuneEvent() | InterpretedEvent() if fnmatchcase(event.kernel.name, kernel):
                yield event
            case WarningEvent() if event.kernel is None or fnmatchcase(event.kernel.name, kernel):
                yield event
            case LaunchesEvent():
                counted = tuple(pair for pair in event.launches if fnmatchcase(pair[0].name, kernel))
                yield LaunchesEvent(launches=counted, at_ns=event.at_ns)
            case EndEvent():
                yield event

"""Gathers from recordings, for each kernel, its launches, its parameters' values, and the time that each value cost."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeGuard

from triton_doctor.runtime.causes import explain_all
from triton_doctor.runtime.event import COMPILED, AutotuneEvent, CompileEvent
from triton_doctor.runtime.kernel_account import set_by_configs, waited_us
from triton_doctor.runtime.savings import find_savings, read_variants
from triton_doctor.runtime.sweep_event import SweepEvent
from triton_doctor.runtime.timeline import share_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.event import Event, KernelName, LaunchSite, Scalar
    from triton_doctor.runtime.kernel_account import Shares
    from triton_doctor.runtime.key_changes import KeyChange
    from triton_doctor.runtime.recording import Recording
    from triton_doctor.runtime.savings import KeyPart, Saving


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One kernel in one process.

    `launches` excludes the launches of tuning, except where these were not counted: then `tuned` is True. `varied` is
    whether one line of the program launched any kernel in two ways. `shares` divide the wall time of all recordings.
    `dry` marks a dry run; `guessed` a dry run that guessed a value, or stopped, for want of data. `swept` are the parts
    of the key that a sweep saw change; `explored` is whether the tool made up the arguments of the sweep.
    """

    launches: int
    tuned: bool
    compiles: tuple[CompileEvent, ...]
    causes: tuple[Recompile, ...]
    tunings: tuple[AutotuneEvent, ...]
    varied: bool
    shares: Shares = field(default_factory=dict)
    dry: bool = False
    guessed: bool = False
    swept: tuple[SweepEvent, ...] = ()
    explored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The number of compiles, loads from disk and rounds of tuning, and the time that they took in all."""

    compiled: int = 0
    from_disk: int = 0
    rounds: int = 0
    waited_us: int = 0

    @property
    def times(self) -> int:
        """Return how many compiles, loads and rounds of tuning there were."""
        return self.compiled + self.from_disk + self.rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedKernel:
    """One kernel over all recorded processes."""

    processes: tuple[Process, ...]

    @property
    def launches(self) -> int:
        """Return the number of launches, including those of tuning where these were not counted."""
        return sum(process.launches for process in self.processes)

    @property
    def parameters(self) -> frozenset[str]:
        """Return the names of the parameters when the kernel ran."""
        return frozenset(name for event in self._compiles() for name, _ in event.key.signature)

    @property
    def tuned(self) -> bool:
        """Return whether tuning launched the kernel an unknown number of times, so that `launches` proves nothing."""
        return any(process.tuned for process in self.processes)

    @property
    def dry(self) -> bool:
        """Return whether all processes were dry runs."""
        return all(process.dry for process in self.processes)

    @property
    def guessed(self) -> bool:
        """Return whether any process guessed a value."""
        return any(process.guessed for process in self.processes)

    def swept(self, part: str, name: str) -> SweepEvent | None:
        """Return the sweep event with the most values of `name`; None unless all processes are sweeps that saw it vary.

        `part` is the part of the key: "constexpr", "autotune key" or "integer".
        """
        each = [
            max(
                (event for event in process.swept if (event.part, event.name) == (part, name)),
                key=_values_of,
                default=None,
            )
            for process in self.processes
        ]
        events = [event for event in each if event is not None]
        return max(events, key=_values_of) if events and len(events) == len(each) else None

    @property
    def configured(self) -> frozenset[str]:
        """Return the parameters that tuning configs set.

        Each round of tuning tries all of their values, whatever the program does.
        """
        return set_by_configs(tuning for process in self.processes for tuning in process.tunings)

    @property
    def causes(self) -> tuple[Recompile, ...]:
        """Return why each compile and each round of tuning happened, process by process."""
        return tuple(cause for process in self.processes for cause in process.causes)

    def most_values(self, values_in: Callable[[Process], Iterable[Scalar]]) -> tuple[Scalar, ...]:
        """Return the distinct values in the process that has the most of them; 2, 2.0 and True are distinct."""
        distinct = ({repr(value): value for value in values_in(process)} for process in self.processes)
        return max((tuple(values.values()) for values in distinct), key=len, default=())

    def constexpr_values(self, name: str) -> tuple[Scalar, ...]:
        """Return the values of the constexpr `name` in the process that has the most of them."""
        return self.most_values(
            lambda process: (
                value
                for event in process.compiles
                if (name, "constexpr") in event.key.signature
                for parameter, value in event.key.constants
                if parameter == name
            )
        )

    def key_values(self, name: str) -> tuple[Scalar, ...]:
        """Return the values that `name` had in tuning keys, in the process that has the most of them."""
        return self.most_values(
            lambda process: (value for event in process.tunings for part, value in event.key if part == name)
        )

    def situations(self, without: frozenset[str]) -> int:
        """Count the combinations of key and arguments that differ in a parameter outside of `without`."""
        return len({situation(event, without) for event in self._compiles()})

    def price(self, concerns: Callable[[KeyChange], bool], *, with_first: bool = False) -> Price:
        """Return the price of the events with a change for which `concerns` holds.

        With `with_first`, the first event of each process counts too.
        """
        found = [
            cause.event
            for cause in self.causes
            if any(map(concerns, cause.changes)) or (with_first and cause.nearest is None)
        ]
        return self.price_of(found)

    def price_of(self, events: Sequence[CompileEvent | AutotuneEvent]) -> Price:
        """Return the price of `events` together."""
        compiles = [event for event in events if isinstance(event, CompileEvent)]
        compiled = sum(1 for event in compiles if event.tier == COMPILED)
        return Price(
            compiled=compiled,
            from_disk=len(compiles) - compiled,
            rounds=len(events) - len(compiles),
            waited_us=round(sum(map(self.waited_us, events))),
        )

    def waited_us(self, event: CompileEvent | AutotuneEvent) -> float:
        """Return the part of the wall time, in microseconds, that `event` took."""
        return waited_us(event, self.processes[0].shares)

    def savings(self, may_leave_out: Callable[[KeyPart], bool]) -> tuple[Saving, ...]:
        """Return which parts to take out of the key, by the rule that the report of a run follows."""
        variants = read_variants([process.compiles for process in self.processes], self.waited_us)
        return find_savings(variants, may_leave_out)

    def _compiles(self) -> Iterable[CompileEvent]:
        return (event for process in self.processes for event in process.compiles)


def situation(event: CompileEvent, without: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Return what `event` records of the arguments, as (parameter, text) pairs, except for the parameters `without`."""
    key = event.key
    recorded: tuple[tuple[str, Scalar], ...] = (*key.signature, *key.constants, *key.attributes, *event.values)
    return tuple((name, repr(value)) for name, value in recorded if name not in without)


def read_seen(recordings: Sequence[Recording]) -> Mapping[KernelName, tuple[Process, ...]]:
    """Read the kernels of `recordings`, one `Process` for each recorded process. Skips Inductor's kernels.

    A process that was given twice, by its file and by the folder of the file, counts once.
    """
    found: defaultdict[KernelName, list[Process]] = defaultdict(list)
    each = list({recording.headers[0]: recording for recording in recordings}.values())
    shares = share_time(each)
    for recording in each:
        events: defaultdict[KernelName, list[CompileEvent | AutotuneEvent]] = defaultdict(list)
        for event in recording.events:
            if isinstance(event, AutotuneEvent) or (isinstance(event, CompileEvent) and not event.direct):
                events[event.kernel].append(event)
        launches = recording.launches
        before: defaultdict[KernelName, list[CompileEvent]] = defaultdict(list)
        for event in recording.before:
            before[event.kernel].append(event)
        processes = {kernel: _process(own, before[kernel], launches.get(kernel, 0)) for kernel, own in events.items()}
        varied = any(map(_varies, processes.values()))
        for kernel, process in processes.items():
            found[kernel].append(
                replace(
                    process,
                    varied=varied,
                    shares=shares,
                    dry=is_dry(recording),
                    guessed=has_guessed(recording),
                    swept=tuple(event for event in recording.events if is_swept(event, kernel)),
                    explored=any(isinstance(event, SweepEvent) and bool(event.entry) for event in recording.events),
                )
            )
    return {kernel: tuple(processes) for kernel, processes in found.items()}


def is_swept(event: Event, kernel: KernelName) -> TypeGuard[SweepEvent]:
    """Return whether `event` is a sweep event of `kernel`."""
    return isinstance(event, SweepEvent) and (event.function, event.module) == (kernel.name, kernel.module)


def _values_of(event: SweepEvent) -> int:
    return event.values


def is_dry(recording: Recording) -> bool:
    """Return whether no process of `recording` ran on a GPU."""
    return all(header.dry for header in recording.headers)


def has_guessed(recording: Recording) -> bool:
    """Return whether a dry run guessed or stopped for want of data, so that a GPU may have taken another branch."""
    return bool(recording.guesses or recording.stops)


def _process(events: Sequence[CompileEvent | AutotuneEvent], before: Sequence[CompileEvent], launches: int) -> Process:
    compiles = tuple(event for event in events if isinstance(event, CompileEvent))
    tunings = tuple(event for event in events if isinstance(event, AutotuneEvent))
    rounds = [event.trials for event in tunings if not event.cached]
    uncounted = None in rounds or (not tunings and any(event.tuning for event in compiles))
    tried = 0 if uncounted else sum(count or 0 for count in rounds)
    return Process(
        # Of a process that was killed, the last may not be counted.
        launches=max(launches - tried, sum(1 for event in compiles if not event.warmup and not event.tuning)),
        tuned=uncounted,
        compiles=compiles,
        causes=explain_all(events, before),
        tunings=tunings,
        varied=False,
    )


def _varies(process: Process) -> bool:
    """Return whether one line launched the kernel in two ways.

    Two lines may differ by design, as forward and backward do.
    """
    configured = RecordedKernel(processes=(process,)).configured
    ways: defaultdict[LaunchSite | None, set[object]] = defaultdict(set)
    for event in process.compiles:
        ways[event.launch_site].add(situation(event, configured))
    return any(len(situations) > 1 for situations in ways.values())

"""Recordings to what they saw of each kernel: its values, its launches, and what each value cost."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeGuard

from triton_doctor.runtime.causes import explain_all
from triton_doctor.runtime.event import COMPILED, AutotuneEvent, CompileEvent
from triton_doctor.runtime.kernel_account import set_by_configs, waited_us
from triton_doctor.runtime.sweep_event import SweepEvent
from triton_doctor.runtime.timeline import share_time
from triton_doctor.runtime.variants import find_savings, read_variants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.event import Event, KernelName, LaunchSite, Scalar
    from triton_doctor.runtime.kernel_account import Shares
    from triton_doctor.runtime.keys import KeyChange
    from triton_doctor.runtime.recording import Recording
    from triton_doctor.runtime.variants import KeyPart, Saving


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One kernel in one process.

    `launches` are the program's, without those of tuning; with them where they were not counted, which is `tuned`.
    `varied` is whether one line of the program launched some kernel in two ways. `shares` are those of the wall time,
    of all recordings together. `dry` is a dry run, and `guessed` one that had to guess, or stopped, for want of data.
    `swept` are the parts of its key that a sweep saw moving; `explored` if the tool made up the arguments of the sweep.
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
    """What some compiles, loads and rounds of tuning came to."""

    compiled: int = 0
    from_disk: int = 0
    rounds: int = 0
    waited_us: int = 0

    @property
    def times(self) -> int:
        """How often the program waited."""
        return self.compiled + self.from_disk + self.rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedKernel:
    """One kernel over all recorded processes."""

    processes: tuple[Process, ...]

    @property
    def launches(self) -> int:
        """Those of the program, and of tuning where they cannot be told apart."""
        return sum(process.launches for process in self.processes)

    @property
    def parameters(self) -> frozenset[str]:
        """Their names, as they were when it ran."""
        return frozenset(name for event in self._compiles() for name, _ in event.key.signature)

    @property
    def tuned(self) -> bool:
        """Whether rounds of tuning launched it nobody knows how often: then launches say nothing."""
        return any(process.tuned for process in self.processes)

    @property
    def dry(self) -> bool:
        """Whether every process ran dry."""
        return all(process.dry for process in self.processes)

    @property
    def guessed(self) -> bool:
        """Whether some process guessed."""
        return any(process.guessed for process in self.processes)

    def swept(self, part: str, name: str) -> SweepEvent | None:
        """What a sweep says of a part of the key, if all recordings are sweeps that saw it move; the most values."""
        each = [
            max((one for one in process.swept if (one.part, one.name) == (part, name)), key=_values_of, default=None)
            for process in self.processes
        ]
        told = [one for one in each if one is not None]
        return max(told, key=_values_of) if told and len(told) == len(each) else None

    @property
    def configured(self) -> frozenset[str]:
        """What the configs of its tuning set: each round tries all of these values, whatever the program does."""
        return set_by_configs(tuning for process in self.processes for tuning in process.tunings)

    @property
    def causes(self) -> tuple[Recompile, ...]:
        """Why it compiled or was tuned, process by process."""
        return tuple(cause for process in self.processes for cause in process.causes)

    def most_values(self, values_in: Callable[[Process], Iterable[Scalar]]) -> tuple[Scalar, ...]:
        """The values of the process that has most of them; 2, 2.0 and True are three."""
        told = ({repr(value): value for value in values_in(process)} for process in self.processes)
        return max((tuple(values.values()) for values in told), key=len, default=())

    def constexpr_values(self, name: str) -> tuple[Scalar, ...]:
        """The values of the constexpr `name` in the process that has most of them."""
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
        """The values that `name` had in keys of tuning, in the process that has most of them."""
        return self.most_values(
            lambda process: (value for event in process.tunings for part, value in event.key if part == name)
        )

    def situations(self, without: frozenset[str]) -> int:
        """How many keys and arguments differ in more than the parameters `without`."""
        return len({situation(event, without) for event in self._compiles()})

    def price(self, concerns: Callable[[KeyChange], bool], *, with_first: bool = False) -> Price:
        """What came with a change that `concerns`; `with_first` counts what each process began with, too."""
        found = [
            cause.event
            for cause in self.causes
            if any(map(concerns, cause.changes)) or (with_first and cause.nearest is None)
        ]
        return self.price_of(found)

    def price_of(self, events: Sequence[CompileEvent | AutotuneEvent]) -> Price:
        """What `events` came to."""
        compiles = [event for event in events if isinstance(event, CompileEvent)]
        compiled = sum(1 for event in compiles if event.tier == COMPILED)
        return Price(
            compiled=compiled,
            from_disk=len(compiles) - compiled,
            rounds=len(events) - len(compiles),
            waited_us=round(sum(map(self.waited_us, events))),
        )

    def waited_us(self, event: CompileEvent | AutotuneEvent) -> float:
        """The share of `event` in the wall time."""
        return waited_us(event, self.processes[0].shares)

    def savings(self, may_leave_out: Callable[[KeyPart], bool]) -> tuple[Saving, ...]:
        """What to take out of its keys, by the same rule as the report of a run."""
        variants = read_variants([process.compiles for process in self.processes], self.waited_us)
        return find_savings(variants, may_leave_out)

    def _compiles(self) -> Iterable[CompileEvent]:
        return (event for process in self.processes for event in process.compiles)


def situation(event: CompileEvent, without: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """All that `event` tells of the arguments, but for the parameters `without`."""
    key = event.key
    told: tuple[tuple[str, Scalar], ...] = (*key.signature, *key.constants, *key.attributes, *event.values)
    return tuple((name, repr(value)) for name, value in told if name not in without)


def read_seen(recordings: Sequence[Recording]) -> Mapping[KernelName, tuple[Process, ...]]:
    """The kernels of `recordings`, one a process. What compilers such as Inductor made is left out.

    A process that was given twice, by its file and by the folder of it, counts once.
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
        processes = {kernel: _process(told, before[kernel], launches.get(kernel, 0)) for kernel, told in events.items()}
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
    """Whether `event` is what a sweep says of `kernel`."""
    return isinstance(event, SweepEvent) and (event.function, event.module) == (kernel.name, kernel.module)


def _values_of(event: SweepEvent) -> int:
    return event.values


def is_dry(recording: Recording) -> bool:
    """Whether nothing of it ran on a GPU."""
    return all(header.dry for header in recording.headers)


def has_guessed(recording: Recording) -> bool:
    """Whether a dry run guessed, or stopped, for want of data: then it may have gone another way than on a GPU."""
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
    """Whether one line launched it in two ways: two lines may differ by design, as forward and backward do."""
    configured = RecordedKernel(processes=(process,)).configured
    ways: defaultdict[LaunchSite | None, set[object]] = defaultdict(set)
    for event in process.compiles:
        ways[event.launch_site].add(situation(event, configured))
    return any(len(told) > 1 for told in ways.values())

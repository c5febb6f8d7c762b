"""Recordings of processes to an Account: what each kernel cost and why, and when the compiling was over."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.runtime.causes import FIRST, explain_all
from triton_doctor.runtime.event import (
    COMPILED,
    AutotuneEvent,
    CompileEvent,
    EndEvent,
    InterpretedEvent,
    ProgramEvent,
    WarningEvent,
)
from triton_doctor.runtime.timeline import Split, span_ns, split_time
from triton_doctor.runtime.wording import launch_wrote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.event import Header, KernelName, LaunchSite, Scalar
    from triton_doctor.runtime.keys import KeyChange
    from triton_doctor.runtime.recording import Recording

# A config as triton spells it (triton 3.9 autotuner.py, Config.__str__): `BLOCK: 64, num_warps: 4`.
_SET = re.compile(r"(\w+): ")
# Launches a variant at least, where nothing compiled twice, to say that all the compiling was in the first steps.
LAUNCHES_A_VARIANT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseAccount:
    """One reason for which a kernel compiled, or was tuned, `count` times. `parameter` None where it is none's.

    `values` are those that the parameter had, in order; `waited_us` what these compiles took. A compile with several
    changed parameters counts, and costs, for each of them.
    """

    code: str
    parameter: str | None
    count: int
    values: tuple[Scalar, ...]
    waited_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What waited for compiles, loads and tuning somewhere: at a launch site, or on a rank."""

    compiled: int
    from_disk: int
    waited_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelAccount:
    """One kernel over all processes. `autotune_us` is what rounds of tuning took beside the compiles in them.

    `again` are, by code, how many compiles or rounds were not the first, and what they took. `direct` is a kernel that
    no launch of Triton's own compiled: Inductor's.
    """

    kernel: KernelName
    launches: int
    in_memory: int
    from_disk: int
    compiled: int
    compile_us: int
    load_us: int
    autotune_rounds: int
    autotune_us: int
    causes: tuple[CauseAccount, ...]
    again: tuple[tuple[str, int, int], ...]
    sites: tuple[tuple[LaunchSite, Share], ...]
    ranks: tuple[tuple[int, Share], ...]
    direct: bool

    @property
    def waited_us(self) -> int:
        """All that this kernel made the program wait."""
        return self.compile_us + self.load_us + self.autotune_us


@dataclass(frozen=True, slots=True, kw_only=True)
class InterpretedKernel:
    """A kernel that ran in interpreter mode. None where the process did not live to tell how often and how long."""

    kernel: KernelName
    launches: int | None
    took_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessAccount:
    """One process: where its time went. `ended` is whether it closed its recording."""

    header: Header
    split: Split
    ended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A run. `settled_us`, from its beginning, is when the last kernel compiled; None while that went on.

    `program` is what `run` saw from outside, and `command` what it started; None where it saw nothing.
    """

    kernels: tuple[KernelAccount, ...]
    processes: tuple[ProcessAccount, ...]
    wall_us: int
    program: ProgramEvent | None
    command: tuple[str, ...] | None
    settled_us: int | None
    interpreted: tuple[InterpretedKernel, ...]
    warnings: tuple[WarningEvent, ...]


def account(recordings: Sequence[Recording]) -> Account:
    """What `recordings`, one a process, say together."""
    program = next(
        (event for recording in recordings for event in recording.events if isinstance(event, ProgramEvent)), None
    )
    processes = [recording for recording in recordings if "triton" in dict(recording.headers[0].versions)]
    outside = next((one.headers[0] for one in recordings if one not in processes), None)
    start_ns, end_ns = span_ns([outside] if outside else [one.headers[0] for one in processes], recordings)
    wall_us = (end_ns - start_ns) // 1000 if program is None else program.wall_us
    # The first process lives as long as the program: also before it could be watched, and after it could write.
    firsts = [one for one in processes if program is not None and one.headers[0].pid == program.pid]
    first = (firsts or processes)[0] if program is not None and 1 in (len(firsts), len(processes)) else None
    kernels = _kernels(processes)
    warnings = {event.message: event for one in recordings for event in one.warnings}
    return Account(
        kernels=kernels,
        processes=tuple(
            ProcessAccount(
                header=one.headers[0],
                split=split_time(one, wall_us if one is first else None),
                ended=any(isinstance(event, EndEvent) for event in one.events),
            )
            for one in sorted(processes, key=_place)
        ),
        wall_us=wall_us,
        program=program,
        command=None if outside is None else outside.command,
        settled_us=_settled_us(processes, kernels, start_ns),
        interpreted=tuple(_interpreted(processes)),
        warnings=tuple(event for event in warnings.values() if event.kind != "interpreted"),
    )


def _kernels(processes: Sequence[Recording]) -> tuple[KernelAccount, ...]:
    events: defaultdict[KernelName, list[CompileEvent | AutotuneEvent]] = defaultdict(list)
    told: defaultdict[KernelName, list[Recompile]] = defaultdict(list)
    launches: Counter[KernelName] = Counter()
    for process in processes:
        launches.update(process.launches)
        for event in process.events:
            if isinstance(event, CompileEvent | AutotuneEvent):
                events[event.kernel].append(event)
        # Each process apart: what is the first of its kernel there is no recompile.
        for cause in explain_all(process.events):
            told[cause.event.kernel].append(cause)
    names = sorted(events.keys() | launches.keys())
    return tuple(_kernel(name, events[name], told[name], launches[name]) for name in names)


def _kernel(
    name: KernelName, events: Sequence[CompileEvent | AutotuneEvent], causes: Sequence[Recompile], launches: int
) -> KernelAccount:
    compiles = [event for event in events if isinstance(event, CompileEvent)]
    tunings = [event for event in events if isinstance(event, AutotuneEvent)]
    compiled = [event for event in compiles if event.tier == COMPILED]
    loaded = [event for event in compiles if event.tier != COMPILED]
    tried_us = sum(event.duration_us + event.process_us for event in compiles if event.tuning)
    tuning_us = sum(event.duration_us or 0 for event in tunings)
    again: defaultdict[str, list[int]] = defaultdict(list)
    configured = set_by_configs(tunings)
    for cause in causes:
        # A round tries all configs whatever the program does.
        tried = {change.name for change in cause.changes if change.code == cause.code} <= configured
        if cause.nearest is not None and not (cause.changes and tried):
            again[cause.code].append(cause.event.duration_us or 0)
    sites = {event.launch_site for event in events if event.launch_site is not None}
    ranks = sorted({event.rank for event in events if event.rank is not None})
    launched = sum(1 for event in compiles if not event.warmup and not event.direct)
    return KernelAccount(
        kernel=name,
        # Of a process that was killed, the last may not be counted.
        launches=max(launches, launched),
        in_memory=max(0, launches - launched),
        from_disk=len(loaded),
        compiled=len(compiled),
        compile_us=sum(event.duration_us for event in compiled),
        load_us=sum(event.duration_us for event in loaded),
        autotune_rounds=len(tunings),
        autotune_us=max(0, tuning_us - tried_us),
        causes=tuple(_causes(causes)),
        again=tuple(sorted((code, len(waits), sum(waits)) for code, waits in again.items())),
        sites=tuple(
            sorted(
                ((site, _share(e for e in events if e.launch_site == site)) for site in sites),
                key=lambda pair: (-pair[1].waited_us, pair[0]),
            )
        ),
        ranks=tuple((rank, _share(e for e in events if e.rank == rank)) for rank in ranks),
        direct=bool(compiles) and all(event.direct for event in compiles),
    )


def set_by_configs(tunings: Iterable[AutotuneEvent]) -> frozenset[str]:
    """What the configs of these rounds set: parameters, and launch options."""
    return frozenset(name for tuning in tunings for name in _SET.findall(tuning.best))


def _share(events: Iterable[CompileEvent | AutotuneEvent]) -> Share:
    own = list(events)
    compiles = [event for event in own if isinstance(event, CompileEvent)]
    # A round's compiles are in its own time.
    waits = [event.duration_us or 0 for event in own if not (isinstance(event, CompileEvent) and event.tuning)]
    compiled = sum(1 for event in compiles if event.tier == COMPILED)
    return Share(compiled=compiled, from_disk=len(compiles) - compiled, waited_us=sum(waits))


def _causes(causes: Sequence[Recompile]) -> Iterable[CauseAccount]:
    counts: Counter[tuple[str, str | None]] = Counter()
    waits: Counter[tuple[str, str | None]] = Counter()
    values: defaultdict[tuple[str, str | None], dict[str, Scalar]] = defaultdict(dict)
    for cause in causes:
        named = [change for change in cause.changes if change.code == cause.code]
        parameters: list[str | None] = [change.name for change in named]
        for parameter in parameters or [None]:
            counts[cause.code, parameter] += 1
            waits[cause.code, parameter] += cause.event.duration_us or 0
        for change in named:
            for value in _known_values(change):
                values[cause.code, change.name].setdefault(repr(value), value)
    for cause_of, count in sorted(counts.items(), key=lambda item: (item[0][0] == FIRST, -item[1])):
        yield CauseAccount(
            code=cause_of[0],
            parameter=cause_of[1],
            count=count,
            values=tuple(values[cause_of].values()),
            waited_us=waits[cause_of],
        )


def _interpreted(processes: Sequence[Recording]) -> Iterable[InterpretedKernel]:
    events = [event for process in processes for event in process.events]
    seen: defaultdict[KernelName, list[InterpretedEvent]] = defaultdict(list)
    for event in events:
        if isinstance(event, WarningEvent) and event.kind == "interpreted" and event.kernel is not None:
            seen[event.kernel] += []
        elif isinstance(event, InterpretedEvent):
            seen[event.kernel].append(event)
    for kernel, told in sorted(seen.items(), key=lambda item: (-sum(one.took_us for one in item[1]), item[0])):
        count, took_us = sum(one.count for one in told), sum(one.took_us for one in told)
        yield InterpretedKernel(kernel=kernel, launches=count or None, took_us=took_us if told else None)


def _known_values(change: KeyChange) -> tuple[Scalar, ...]:
    both = (change.before, change.after)
    if change.part == "spelling":
        return tuple(launch_wrote(value) for value in both)
    # None of an integer is one that no recording could keep.
    return tuple(value for value in both if value is not None or change.part != "integer")


def _place(process: Recording) -> tuple[int, int]:
    header = process.headers[0]
    return (-1 if header.rank is None else header.rank, header.started_at_ns)


def _settled_us(processes: Sequence[Recording], kernels: Sequence[KernelAccount], start_ns: int) -> int | None:
    """When the last kernel compiled, if much ran after it: half of the time since the first, or many launches."""
    moments = [
        event.at_ns for one in processes for event in one.events if isinstance(event, CompileEvent | AutotuneEvent)
    ]
    if not moments:
        return None
    first, last = min(moments), max(moments)
    # Until the processes closed their recordings: taking an interpreter down takes a while too.
    end = span_ns([], processes)[1]
    in_memory, variants = sum(k.in_memory for k in kernels), sum(k.compiled + k.from_disk for k in kernels)
    nothing_again = not any(kernel.again for kernel in kernels) and in_memory >= LAUNCHES_A_VARIANT * variants
    quiet = in_memory > 0 and 2 * (end - last) >= end - first
    return (last - start_ns) // 1000 if nothing_again or quiet else None

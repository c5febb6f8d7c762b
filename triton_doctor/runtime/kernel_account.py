"""Events of a run to KernelAccounts: how often each kernel compiled, why, and what of the wall time it took."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triton_doctor.runtime.cause_table import FIRST
from triton_doctor.runtime.cause_wording import launch_wrote
from triton_doctor.runtime.causes import LOOK_BACK
from triton_doctor.runtime.event import (
    COMPILED,
    LONG_US,
    AutotuneEvent,
    CompileEvent,
    FailureEvent,
    ModuleEvent,
    UnloadEvent,
)
from triton_doctor.runtime.savings import read_rounds, read_variants
from triton_doctor.runtime.timeline import Part, share_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.event import KernelName, LaunchSite, Scalar
    from triton_doctor.runtime.key_changes import KeyChange
    from triton_doctor.runtime.recording import Recording
    from triton_doctor.runtime.savings import Variants

    Shares = Mapping[tuple[int, Part], float]
    TimedEvent = CompileEvent | AutotuneEvent

OfKernel = CompileEvent | AutotuneEvent | ModuleEvent | UnloadEvent | FailureEvent

# A config as triton spells it (triton 3.9 autotuner.py, Config.__str__): `BLOCK: 64, num_warps: 4`.
_SET = re.compile(r"(\w+): ")

INDUCTOR = "inductor"


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
    """One kernel over all processes. Times are shares of the wall time: those of all kernels add up to its parts.

    `launches` are the program's, without the `trials` that rounds of tuning launched. `autotune_us` is what those
    rounds took beside the compiles in them. `again` are, by code, how many compiles or rounds were not the first, and
    what they took. `direct` is a kernel that no launch of Triton's own compiled, and whose launches are not counted:
    Inductor's, say, which is then its `maker`. `failed` compiles raised one of `errors`; `capturing` compiles and
    rounds happened while a CUDA graph was captured, and `unloaded` modules were unloaded then. `configured` are the
    parameters that configs of tuning set, `unkept` how many rounds no later process finds the timings of, by reason.
    `longest` is the compile that took longest, if that was LONG_US or more.
    `is_bounded` is whether a cause may be one of several, as only the latest keys were compared.
    In a `dry` run `compiled` are variants, nothing took time, and `guessed` are the variants that came after a guess.
    """

    kernel: KernelName
    launches: int
    trials: int
    in_memory: int
    from_disk: int
    compiled: int
    compile_us: int
    load_us: int
    launcher_us: int
    module_us: int
    failed: int
    failed_us: int
    errors: tuple[str, ...]
    autotune_rounds: int
    autotune_us: int
    capturing: int
    unloaded: int
    causes: tuple[CauseAccount, ...]
    again: tuple[tuple[str, int, int], ...]
    sites: tuple[tuple[LaunchSite, Share], ...]
    ranks: tuple[tuple[int, Share], ...]
    direct: bool
    maker: str
    configured: frozenset[str]
    variants: Variants
    rounds: Variants
    unkept: tuple[tuple[str, int], ...] = ()
    dry: bool = False
    guessed: int = 0
    is_bounded: bool = False
    longest: CompileEvent | None = None

    @property
    def waited_us(self) -> int:
        """Return how long the program waited for this kernel in total, in microseconds."""
        parts = (self.compile_us, self.load_us, self.launcher_us, self.module_us, self.failed_us, self.autotune_us)
        return sum(parts)


def account_kernels(processes: Sequence[Recording]) -> tuple[KernelAccount, ...]:
    """Return an account per kernel of `processes`, sorted by name."""
    shares = share_time(processes)
    seen: defaultdict[KernelName, list[SeenInProcess]] = defaultdict(list)
    for process in processes:
        of_process: defaultdict[KernelName, SeenInProcess] = defaultdict(SeenInProcess)
        for event in process.events:
            if isinstance(event, OfKernel):
                of_process[event.kernel].events.append(event)
        # Each process apart: what is the first of its kernel there is no recompile.
        for cause in process.causes:
            of_process[cause.event.kernel].causes.append(cause)
        for name, count in process.launches.items():
            of_process[name].launches = count
        # What a rank waited is of its own time, not of what is left when all ranks share theirs.
        alone = share_time([process]) if process.headers[0].rank is not None else shares
        for name, kernel in of_process.items():
            kernel.shares = alone
            seen[name].append(kernel)
    return tuple(_account_kernel(name, seen[name], shares) for name in sorted(seen))


@dataclass(slots=True)
class SeenInProcess:
    """What one process saw of a kernel. `shares` are those of the process by itself, where it is a rank."""

    events: list[OfKernel] = field(default_factory=list)
    causes: list[Recompile] = field(default_factory=list)
    launches: int = 0
    shares: Shares = field(default_factory=dict)

    @property
    def compiles(self) -> list[CompileEvent]:
        """Return the compile events of the kernel."""
        return [event for event in self.events if isinstance(event, CompileEvent)]

    @property
    def tunings(self) -> list[AutotuneEvent]:
        """Return the autotuning events of the kernel."""
        return [event for event in self.events if isinstance(event, AutotuneEvent)]

    @property
    def timed(self) -> list[TimedEvent]:
        """Return the compile and autotuning events of the kernel."""
        return [event for event in self.events if isinstance(event, CompileEvent | AutotuneEvent)]

    @property
    def trials(self) -> int:
        """Return the number of launches made by autotuning, as far as launches were counted."""
        return sum(event.trials or 0 for event in self.tunings)

    @property
    def launched(self) -> int:
        """Return the number of compiles caused by launches of the program."""
        return sum(1 for event in self.compiles if not (event.warmup or event.direct or event.tuning))


def _account_kernel(name: KernelName, seen: Sequence[SeenInProcess], shares: Shares) -> KernelAccount:
    events = [event for process in seen for event in process.events]
    compiles = [event for process in seen for event in process.compiles]
    tunings = [event for process in seen for event in process.tunings]
    causes = [cause for process in seen for cause in process.causes]
    # Timings that came from disk set a config, and cost nothing.
    measured = [event for event in tunings if not event.cached]
    failures = [event for event in events if isinstance(event, FailureEvent)]
    modules = [event for event in events if isinstance(event, ModuleEvent)]
    compiled = [event for event in compiles if event.tier == COMPILED]
    loaded = [event for event in compiles if event.tier != COMPILED]
    launched = sum(process.launched for process in seen)
    # Of a process that was killed, the last may not be counted.
    launches = sum(max(process.launches - process.trials, process.launched) for process in seen)
    by_rank: defaultdict[int, list[tuple[TimedEvent, Shares]]] = defaultdict(list)
    by_site: defaultdict[LaunchSite, list[TimedEvent]] = defaultdict(list)
    for process in seen:
        for event in process.timed:
            if event.rank is not None:
                by_rank[event.rank].append((event, process.shares))
            if event.launch_site is not None:
                by_site[event.launch_site].append(event)
    sites = [(site, _share([(event, shares) for event in of_site])) for site, of_site in by_site.items()]
    by_length = sorted(compiled, key=lambda event: -event.duration_us)
    return KernelAccount(
        kernel=name,
        launches=launches,
        trials=sum(process.trials for process in seen),
        in_memory=max(0, launches - launched),
        from_disk=len(loaded),
        compiled=len(compiled),
        compile_us=_sum_us(shares, compiled, Part.COMPILING),
        load_us=_sum_us(shares, loaded, Part.LOADING),
        launcher_us=_sum_us(shares, modules, Part.LAUNCHER),
        module_us=_sum_us(shares, modules, Part.MODULE),
        failed=sum(1 for event in failures if not event.refused),
        failed_us=_sum_us(shares, failures, Part.FAILING),
        errors=tuple(dict.fromkeys(event.error for event in failures if not event.refused)),
        autotune_rounds=len(measured),
        autotune_us=_sum_us(shares, tunings, Part.TUNING),
        capturing=sum(1 for process in seen for event in process.timed if event.capturing),
        unloaded=sum(1 for event in events if isinstance(event, UnloadEvent)),
        causes=tuple(_causes(causes, shares)),
        again=tuple(_again(causes, tunings, shares)),
        sites=tuple(sorted(sites, key=lambda pair: (-pair[1].waited_us, pair[0]))),
        ranks=tuple((rank, _share(by_rank[rank])) for rank in sorted(by_rank)),
        direct=bool(compiles) and all(event.direct for event in compiles),
        maker=next((maker for event in compiles if (maker := _maker(event))), ""),
        configured=set_by_configs(tunings),
        variants=read_variants(
            [[event for event in process.compiles if not event.direct] for process in seen],
            lambda event: waited_us(event, shares),
        ),
        rounds=read_rounds(
            [[tuning for tuning in process.tunings if not tuning.cached] for process in seen],
            lambda event: waited_us(event, shares),
        ),
        unkept=tuple(Counter(tuning.kept for tuning in tunings if tuning.is_lost).items()),
        dry=any(event.dry for event in compiles),
        guessed=sum(event.guessed for event in compiles),
        # A difference in one part is as near as a key can be.
        longest=next((event for event in by_length if event.duration_us >= LONG_US), None),
        is_bounded=any(len(cause.changes) > 1 for process in seen for cause in process.causes[LOOK_BACK + 1 :]),
    )


def _maker(event: CompileEvent) -> str:
    """Return the library that requested the compile; in older recordings, deduced from the kernel's module."""
    inductors = event.direct and event.kernel.module.startswith("torch._inductor.")
    return event.maker or (INDUCTOR if inductors else "")


def _sum_us(shares: Shares, events: Iterable[object], part: Part) -> int:
    return round(sum(shares.get((id(event), part), 0.0) for event in events))


def waited_us(event: TimedEvent, shares: Shares) -> float:
    """Return the share of the wall time that `event` took, without the one-time cost per process."""
    return sum(shares.get((id(event), part), 0.0) for part in (Part.COMPILING, Part.LOADING, Part.TUNING))


def _again(
    causes: Sequence[Recompile], tunings: Sequence[AutotuneEvent], shares: Shares
) -> Iterable[tuple[str, int, int]]:
    waits: defaultdict[str, list[float]] = defaultdict(list)
    configured = set_by_configs(tunings)
    for cause in causes:
        # A round tries all configs whatever the program does.
        tried = {change.name for change in cause.changes if change.code == cause.code} <= configured
        if cause.nearest is not None and not (cause.changes and tried):
            waits[cause.code].append(waited_us(cause.event, shares))
    return sorted((code, len(wait), round(sum(wait))) for code, wait in waits.items())


def set_by_configs(tunings: Iterable[AutotuneEvent]) -> frozenset[str]:
    """Return the parameters and launch options that the configs of these autotunings set."""
    return frozenset(name for tuning in tunings for name in _SET.findall(tuning.best))


def _share(events: Sequence[tuple[TimedEvent, Shares]]) -> Share:
    compiles = [event for event, _ in events if isinstance(event, CompileEvent)]
    compiled = sum(1 for event in compiles if event.tier == COMPILED)
    waited = sum(waited_us(event, shares) for event, shares in events)
    return Share(compiled=compiled, from_disk=len(compiles) - compiled, waited_us=round(waited))


def _causes(causes: Sequence[Recompile], shares: Shares) -> Iterable[CauseAccount]:
    counts: Counter[tuple[str, str | None]] = Counter()
    waits: defaultdict[tuple[str, str | None], float] = defaultdict(float)
    values: defaultdict[tuple[str, str | None], dict[str, Scalar]] = defaultdict(dict)
    for cause in causes:
        named = [change for change in cause.changes if change.code == cause.code]
        parameters: list[str | None] = [change.name for change in named]
        for parameter in parameters or [None]:
            counts[cause.code, parameter] += 1
            waits[cause.code, parameter] += waited_us(cause.event, shares)
        for change in named:
            for value in _known_values(change):
                values[cause.code, change.name].setdefault(repr(value), value)
    for cause_of, count in sorted(counts.items(), key=lambda item: (item[0][0] == FIRST, -item[1])):
        yield CauseAccount(
            code=cause_of[0],
            parameter=cause_of[1],
            count=count,
            values=tuple(values[cause_of].values()),
            waited_us=round(waits[cause_of]),
        )


def _known_values(change: KeyChange) -> tuple[Scalar, ...]:
    both = (change.before, change.after)
    if change.part == "spelling":
        return tuple(launch_wrote(value) for value in both)
    # None of an integer is one that no recording could keep.
    return tuple(value for value in both if value is not None or change.part != "integer")

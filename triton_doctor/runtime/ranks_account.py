"""Recordings of a job's ranks to what all of them compiled, what only some did, and who waited for whom."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from operator import itemgetter
from statistics import median
from typing import TYPE_CHECKING

from triton_doctor.runtime.event import COMPILED, CompileEvent
from triton_doctor.runtime.program_event import StepEvent
from triton_doctor.runtime.timeline import Interval, length, read_intervals, union

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.runtime.event import CompileKey, KernelName, Scalar
    from triton_doctor.runtime.recording import Recording

    RankedVariants = dict[KernelName, dict[int, "RankedVariant"]]

# Steps of two ranks that differ by less take equally long.
NOISE, NOISE_US = 0.05, 1000
# What a rank lost in a step, as a share of what another compiled in it: what is less, or more, has another reason.
LEAST_WAIT, MOST_WAIT = 0.5, 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class RankGroup:
    """Variants of one kernel that `ranks` compiled, or `loaded` from disk, and no other rank did.

    `values` are those of constexprs that each of these variants has, and that no variant of the other ranks has.
    """

    kernel: KernelName
    ranks: tuple[int, ...]
    variants: int
    loaded: bool
    values: tuple[tuple[str, tuple[Scalar, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedStep:
    """One step that several ranks made, in `duration_us`. `slowest` took `ahead_us` longer than the next.

    It is None where that is within the noise, or where a compile explains it. `compiling` compiled, loaded and tuned
    for longest, `compile_us`; None where no rank did. `waits` are the others with how long they waited for it, in
    microseconds: how much longer the step took than those in which nothing compiled, without their own compiles.
    """

    number: int
    slowest: int | None
    duration_us: int
    ahead_us: int
    compiling: int | None
    compile_us: int
    waits: tuple[tuple[int, int], ...]

    @property
    def waited_us(self) -> int:
        """Return the longest wait of any rank, in microseconds."""
        return max((waited_us for _, waited_us in self.waits), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksAccount:
    """A job of several ranks: `common` variants of all ranks, `groups` of some, those of most variants first.

    `alone` is how long a rank compiled, loaded or tuned while another did not, in microseconds.
    """

    ranks: tuple[int, ...]
    common: int
    groups: tuple[RankGroup, ...]
    steps: tuple[RankedStep, ...]
    alone: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class RankedVariant:
    """A variant, and a bit for each rank that had it."""

    key: CompileKey
    ranks: int = 0
    loaded: bool = False


def account_ranks(processes: Sequence[Recording]) -> RanksAccount | None:
    """Compare the ranks among `processes`; None unless there are at least two."""
    ranked = [(rank, process) for process in processes if (rank := process.headers[0].rank) is not None]
    ranks = tuple(sorted({rank for rank, _ in ranked}))
    if len(ranks) < 2:
        return None
    numbers = {rank: number for number, rank in enumerate(ranks)}
    variants = _collect_variants((numbers[rank], process) for rank, process in ranked)
    everyone = (1 << len(ranks)) - 1
    groups = [group for kernel, of_kernel in variants.items() for group in _group(kernel, of_kernel, ranks)]
    return RanksAccount(
        ranks=ranks,
        common=sum(variant.ranks == everyone for of_kernel in variants.values() for variant in of_kernel.values()),
        groups=tuple(sorted(groups, key=lambda group: (-group.variants, group.kernel, group.ranks))),
        steps=tuple(_rank_steps(ranked)),
        alone=tuple(sorted(_alone(ranked, len(ranks)), key=lambda pair: (-pair[1], pair[0]))),
    )


def _collect_variants(ranked: Iterable[tuple[int, Recording]]) -> RankedVariants:
    """Group variants by kernel and key; differences in device, source and kernel object are ignored."""
    variants: RankedVariants = defaultdict(dict)
    # By text, for 2, 2.0 and True are equal and yet three values. Keys that were read from files are one object each.
    identities: dict[str, int] = {}
    known: dict[int, tuple[CompileKey, int]] = {}
    for number, recording in ranked:
        for event in recording.events:
            if not isinstance(event, CompileEvent):
                continue
            if id(event.key) not in known:
                known[id(event.key)] = event.key, identities.setdefault(repr(event.key), len(identities))
            _, identity = known[id(event.key)]
            variant = variants[event.kernel].setdefault(identity, RankedVariant(event.key))
            variant.ranks |= 1 << number
            variant.loaded |= event.tier != COMPILED
    return variants


def _group(kernel: KernelName, variants: dict[int, RankedVariant], ranks: Sequence[int]) -> Iterable[RankGroup]:
    grouped: defaultdict[int, list[RankedVariant]] = defaultdict(list)
    had: defaultdict[tuple[str, str], int] = defaultdict(int)
    for variant in variants.values():
        grouped[variant.ranks].append(variant)
        for name, value in variant.key.constants:
            had[name, repr(value)] |= variant.ranks
    for mask, of_group in grouped.items():
        if mask == (1 << len(ranks)) - 1:
            continue
        values: defaultdict[str, dict[str, Scalar]] = defaultdict(dict)
        for variant in of_group:
            for name, value in variant.key.constants:
                if had[name, repr(value)] == mask:
                    values[name].setdefault(repr(value), value)
        # A value that only these ranks have tells them apart if each of their variants has one.
        constants = [dict(variant.key.constants) for variant in of_group]
        telling = [
            name for name in values if all(repr(constant.get(name, ...)) in values[name] for constant in constants)
        ]
        yield RankGroup(
            kernel=kernel,
            ranks=tuple(rank for number, rank in enumerate(ranks) if mask >> number & 1),
            variants=len(of_group),
            loaded=any(variant.loaded for variant in of_group),
            values=tuple((name, tuple(values[name].values())) for name in telling),
        )


def _rank_steps(ranked: Iterable[tuple[int, Recording]]) -> Iterable[RankedStep]:
    durations: defaultdict[int, dict[int, int]] = defaultdict(dict)
    busy: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for rank, recording in ranked:
        intervals = sorted((span for event in recording.events for _, span in read_intervals(event)), key=itemgetter(1))
        for event in recording.events:
            # Of steps that one line stands for none is known by itself.
            if isinstance(event, StepEvent) and event.kind == "step" and event.number is not None and event.count == 1:
                begun, ended = event.started_at_ns // 1000, event.at_ns // 1000
                durations[event.number][rank] = ended - begun
                first = bisect_left(intervals, begun, key=itemgetter(1)) if event.compiles_ns else len(intervals)
                last = bisect_right(intervals, ended, key=itemgetter(1))
                busy_us = length(union(intervals[first:last]))
                if busy_us:
                    busy[event.number][rank] = busy_us
    quiet = [number for number in durations if number not in busy]
    every = {rank for of_step in durations.values() for rank in of_step}
    usual = {
        rank: median(known)
        for rank in every
        if (known := [durations[number][rank] for number in quiet if rank in durations[number]])
    }
    for number in sorted(durations):
        of_step, of_next = durations[number], durations.get(number + 1, {}) if number + 1 not in busy else {}
        if len(of_step) < 2:
            continue
        slowest, second = sorted(of_step, key=lambda rank: (-of_step[rank], rank))[:2]
        ahead_us = of_step[slowest] - of_step[second]
        is_slower = ahead_us > max(NOISE * of_step[slowest], NOISE_US)
        compiled = busy.get(number, {})
        compiling = max(compiled, key=lambda rank: (compiled[rank], -rank), default=None)
        compile_us = 0 if compiling is None else compiled[compiling]
        waits = []
        for rank in sorted(of_step.keys() & usual.keys() - {compiling}) if compiled else ():
            behind_us = compile_us - compiled.get(rank, 0)
            # The host runs ahead of its GPU: it may meet the wait in the next step.
            late_us = max(0.0, of_next[rank] - usual[rank]) if rank in of_next else 0.0
            waited_us = of_step[rank] - usual[rank] - compiled.get(rank, 0) + late_us
            if waited_us >= LEAST_WAIT * behind_us > 0:
                waits.append((rank, round(min(waited_us, MOST_WAIT * behind_us))))
        yield RankedStep(
            number=number,
            slowest=slowest if is_slower and busy.keys().isdisjoint((number - 1, number)) else None,
            duration_us=of_step[slowest],
            ahead_us=ahead_us,
            compiling=compiling,
            compile_us=compile_us,
            waits=tuple(waits),
        )


def _alone(ranked: Iterable[tuple[int, Recording]], ranks: int) -> Iterator[tuple[int, int]]:
    """Yield each rank with the time, in microseconds, in which it compiled while some other rank did not."""
    busy: defaultdict[int, list[Interval]] = defaultdict(list)
    for rank, recording in ranked:
        busy[rank] += [span for event in recording.events for _, span in read_intervals(event)]
    # A dry run compiles in no time: an interval without length would end before it begins in the order of `bounds`.
    pairs = [(rank, (begin, end)) for rank, of_rank in busy.items() for begin, end in union(of_rank) if begin < end]
    bounds = [(begin, True, rank) for rank, (begin, _) in pairs] + [(end, False, rank) for rank, (_, end) in pairs]
    alone: Counter[int] = Counter()
    # The time in which not all were busy, so far, and what it was when each of those that are busy began.
    clock = before = 0
    begun: dict[int, int] = {}
    for at, begins, rank in sorted(bounds):
        clock += at - before if len(begun) < ranks else 0
        before = at
        if begins:
            begun[rank] = clock
        else:
            alone[rank] += clock - begun.pop(rank)
    yield from alone.items()

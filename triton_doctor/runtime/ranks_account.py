"""Recordings of a job's ranks to what all of them compiled, what only some did, and who was slowest in each step."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.runtime.event import COMPILED, AutotuneEvent, CompileEvent
from triton_doctor.runtime.program_event import StepEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from triton_doctor.runtime.event import CompileKey, KernelName, Scalar
    from triton_doctor.runtime.recording import Recording

    RankedVariants = dict[KernelName, dict[int, "RankedVariant"]]


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
    """One step that several ranks made. `slowest` took `duration_us`, which was `ahead_us` more than the next.

    Ranks wait for each other where they exchange data, so that `waited`, which compiled, loaded and tuned for longest,
    says more: `waited_us`, None where nothing did.
    """

    number: int
    slowest: int
    duration_us: int
    ahead_us: int
    waited: int | None
    waited_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksAccount:
    """A job of several ranks: `common` variants of all ranks, `groups` of some, those of most variants first."""

    ranks: tuple[int, ...]
    common: int
    groups: tuple[RankGroup, ...]
    steps: tuple[RankedStep, ...]


@dataclass(slots=True)
class RankedVariant:
    """A variant, and a bit for each rank that had it."""

    key: CompileKey
    ranks: int = 0
    loaded: bool = False


def account_ranks(processes: Sequence[Recording]) -> RanksAccount | None:
    """What the ranks among `processes` did alike and apart; None where they are not several."""
    ranked = [(rank, one) for one in processes if (rank := one.headers[0].rank) is not None]
    ranks = tuple(sorted({rank for rank, _ in ranked}))
    if len(ranks) < 2:
        return None
    numbers = {rank: number for number, rank in enumerate(ranks)}
    variants = _collect_variants((numbers[rank], one) for rank, one in ranked)
    everyone = (1 << len(ranks)) - 1
    groups = [group for kernel, of_kernel in variants.items() for group in _group(kernel, of_kernel, ranks)]
    return RanksAccount(
        ranks=ranks,
        common=sum(one.ranks == everyone for of_kernel in variants.values() for one in of_kernel.values()),
        groups=tuple(sorted(groups, key=lambda one: (-one.variants, one.kernel, one.ranks))),
        steps=tuple(_rank_steps(ranked)),
    )


def _collect_variants(ranked: Iterable[tuple[int, Recording]]) -> RankedVariants:
    """By kernel and key. Which device, source or kernel object compiled it is the rank's own."""
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
        telling = [name for name in values if all(_has(one, name, values[name]) for one in of_group)]
        yield RankGroup(
            kernel=kernel,
            ranks=tuple(rank for number, rank in enumerate(ranks) if mask >> number & 1),
            variants=len(of_group),
            loaded=any(one.loaded for one in of_group),
            values=tuple((name, tuple(values[name].values())) for name in telling),
        )


def _has(variant: RankedVariant, name: str, values: dict[str, Scalar]) -> bool:
    return any(repr(value) in values for other, value in variant.key.constants if other == name)


def _rank_steps(ranked: Iterable[tuple[int, Recording]]) -> Iterable[RankedStep]:
    durations: defaultdict[int, dict[int, int]] = defaultdict(dict)
    waits: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for rank, recording in ranked:
        took_us: Counter[int] = Counter()
        for event in recording.events:
            if isinstance(event, CompileEvent | AutotuneEvent):
                took_us[event.at_ns] += event.duration_us or 0
        for event in recording.events:
            # Of steps that one line stands for none is known by itself.
            if isinstance(event, StepEvent) and event.kind == "step" and event.number is not None and event.count == 1:
                durations[event.number][rank] = (event.at_ns - event.started_at_ns) // 1000
                waited_us = sum(took_us[at_ns] for at_ns in event.compiles_ns)
                if waited_us:
                    waits[event.number][rank] += waited_us
    for number in sorted(durations):
        of_step = durations[number]
        if len(of_step) < 2:
            continue
        slowest, second = sorted(of_step, key=lambda rank: (-of_step[rank], rank))[:2]
        most = waits[number].most_common(1) if number in waits else []
        yield RankedStep(
            number=number,
            slowest=slowest,
            duration_us=of_step[slowest],
            ahead_us=of_step[slowest] - of_step[second],
            waited=most[0][0] if most else None,
            waited_us=most[0][1] if most else 0,
        )

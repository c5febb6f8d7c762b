"""The ranks of a job in words: what all compiled, what only some did, and who waited for whom in which step."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from triton_doctor.phrases import join_words, plural
from triton_doctor.report.recording.wording import describe_values, seconds, show_value
from triton_doctor.runtime.ranks_account import NOISE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.runtime.ranks_account import RankedStep, RankGroup, RanksAccount

GROUPS_SHOWN, STEPS_SHOWN, RANKS_NAMED, ALONE_SHOWN = 12, 8, 6, 3
# Of noise each rank has its share: one is slow that is slowest in a quarter of the steps, and mostly alone in that.
OFTEN = 0.25
LEAST_ALONE_US = 50_000


def describe_ranks(account: RanksAccount | None) -> Iterator[str]:
    """Yield how ranks differed in what they compiled, and which waited; nothing if there is one, or no difference."""
    if account is None:
        return
    if account.groups:
        yield f"{plural(account.common, 'variant')} on all {len(account.ranks):,} ranks"
    for group in account.groups[:GROUPS_SHOWN]:
        yield describe_group(group, len(account.ranks))
    if len(account.groups) > GROUPS_SHOWN:
        rest = account.groups[GROUPS_SHOWN:]
        yield f"and {plural(sum(group.variants for group in rest), 'variant')} more that only some ranks had"
    yield from _describe_steps(account.steps) if account.steps else _describe_alone(account)


def describe_group(group: RankGroup, ranks: int) -> str:
    """Format the variants that only some ranks had: ``rank 3 compiled 12 variants of `k` that no other rank did``."""
    verb = "compiled or loaded" if group.loaded else "compiled"
    others = ranks - len(group.ranks)
    which = "the other" if others == 1 else f"the other {others:,}"
    apart = "no other rank did" if len(group.ranks) == 1 else f"{which} did not"
    values = [f"`{name}` {describe_values(map(show_value, values))}" for name, values in group.values]
    listed = f": {', '.join(values)}" if values else ""
    variants = f"{plural(group.variants, 'variant')} of `{group.kernel.name}`"
    return f"{name_ranks(group.ranks)} {verb} {variants} that {apart}{listed}"


def name_ranks(ranks: Sequence[int]) -> str:
    """Format a set of ranks: `rank 3`, `ranks 0 to 7`, `ranks 1, 4 and 9`, or `512 ranks`."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 2 and ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"ranks {ranks[0]} to {ranks[-1]}"
    return (
        f"ranks {join_words([str(rank) for rank in ranks])}" if len(ranks) <= RANKS_NAMED else f"{len(ranks):,} ranks"
    )


def _describe_steps(steps: Sequence[RankedStep]) -> Iterator[str]:
    """Yield which rank waited for which in each step, and whether one rank was often the slowest."""
    compiling = [step for step in steps if step.compiling is not None]
    for step in sorted(compiling, key=lambda step: (-step.waited_us, -step.compile_us, step.number))[:STEPS_SHOWN]:
        busy = f"compiled, loaded or tuned for {seconds(step.compile_us)}"
        if step.waits:
            most = ("" if len(step.waits) == 1 else "up to ") + seconds(step.waited_us)
            who = name_ranks([rank for rank, _ in step.waits])
            yield f"step {step.number}: {who} waited {most} for rank {step.compiling}, which {busy}"
        else:
            yield f"step {step.number}: rank {step.compiling} {busy}"
    if len(compiling) > STEPS_SHOWN:
        yield f"and {plural(len(compiling) - STEPS_SHOWN, 'step')} more that compiled"
    slower = Counter(step.slowest for step in steps if step.slowest is not None)
    for rank, count in slower.most_common(1):
        if count >= OFTEN * len(steps) and count >= OFTEN * slower.total() * 3:
            yield f"rank {rank} was the slowest by more than {NOISE:.0%} in {count:,} of {plural(len(steps), 'step')}"


def _describe_alone(account: RanksAccount) -> Iterator[str]:
    """Yield for how long a rank compiled while the others may have waited, if no recorded steps show it."""
    for rank, alone_us in account.alone[:ALONE_SHOWN]:
        if alone_us >= LEAST_ALONE_US:
            others = [other for other in account.ranks if other != rank]
            who = f"rank {others[0]}" if len(others) == 1 else "another rank"
            yield (
                f"rank {rank} compiled, loaded or tuned for {seconds(alone_us)} while {who} did not: {who} waits up to "
                f"as long where it needs data of rank {rank} (`triton_doctor.step()` shows in which step)"
            )


def ranks_object(account: RanksAccount | None) -> dict[str, Any] | None:
    """Convert the ranks for JSON; None if there is only one."""
    if account is None:
        return None
    return {
        "count": len(account.ranks),
        "common_variants": account.common,
        "alone": [{"rank": rank, "ms": alone_us / 1000} for rank, alone_us in account.alone],
        "groups": [
            {
                "kernel": group.kernel.name,
                "ranks": list(group.ranks),
                "variants": group.variants,
                "loaded": group.loaded,
                "values": {name: list(values) for name, values in group.values},
            }
            for group in account.groups
        ],
        "steps": [
            {
                "number": step.number,
                "slowest_rank": step.slowest,
                "duration_ms": step.duration_us / 1000,
                "ahead_ms": step.ahead_us / 1000,
                "compiling_rank": step.compiling,
                "compile_ms": step.compile_us / 1000,
                "waits": [{"rank": rank, "waited_ms": waited_us / 1000} for rank, waited_us in step.waits],
            }
            for step in account.steps
        ],
    }

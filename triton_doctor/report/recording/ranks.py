"""The ranks of a job in words: what all compiled, what only some did, and who was slowest in which step."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from triton_doctor.report.recording.wording import counted, seconds, show_value, tell_values
from triton_doctor.runtime.remedies import join_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.runtime.ranks_account import RankedStep, RankGroup, RanksAccount

GROUPS_SHOWN, STEPS_SHOWN, RANKS_NAMED = 12, 8, 6


def tell_ranks(account: RanksAccount | None) -> Iterator[str]:
    """Nothing where ranks are not several, or all did the same in no steps."""
    if account is None or not (account.groups or account.steps):
        return
    if account.groups:
        yield f"{counted(account.common, 'variant')} on all {len(account.ranks):,} ranks"
    for group in account.groups[:GROUPS_SHOWN]:
        yield tell_group(group, len(account.ranks))
    if len(account.groups) > GROUPS_SHOWN:
        rest = account.groups[GROUPS_SHOWN:]
        yield f"and {counted(sum(group.variants for group in rest), 'variant')} more that only some ranks had"
    yield from _tell_steps(account.steps)


def tell_group(group: RankGroup, ranks: int) -> str:
    """`rank 3 compiled 12 variants of `k` that no other rank did: `bs` 17 to 28`."""
    verb = "compiled or loaded" if group.loaded else "compiled"
    others = ranks - len(group.ranks)
    which = "the other" if others == 1 else f"the other {others:,}"
    apart = "no other rank did" if len(group.ranks) == 1 else f"{which} did not"
    values = [f"`{name}` {tell_values(map(show_value, values))}" for name, values in group.values]
    told = f": {', '.join(values)}" if values else ""
    variants = f"{counted(group.variants, 'variant')} of `{group.kernel.name}`"
    return f"{name_ranks(group.ranks)} {verb} {variants} that {apart}{told}"


def name_ranks(ranks: Sequence[int]) -> str:
    """`rank 3`, `ranks 0 to 7`, `ranks 1, 4 and 9`, or `512 ranks`."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 2 and ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"ranks {ranks[0]} to {ranks[-1]}"
    return (
        f"ranks {join_names([str(rank) for rank in ranks])}" if len(ranks) <= RANKS_NAMED else f"{len(ranks):,} ranks"
    )


def _tell_steps(steps: Sequence[RankedStep]) -> Iterator[str]:
    if not steps:
        return
    compiling = sorted((one for one in steps if one.waited is not None), key=lambda one: (-one.waited_us, one.number))
    for one in compiling[:STEPS_SHOWN]:
        waited = f"rank {one.waited} compiled, loaded or tuned for longest, {seconds(one.waited_us)}"
        yield f"step {one.number}: {waited}; the step took {seconds(one.duration_us)}, longest on rank {one.slowest}"
    if len(compiling) > STEPS_SHOWN:
        yield f"and {counted(len(compiling) - STEPS_SHOWN, 'step')} more that compiled"
    ((rank, count),) = Counter(one.slowest for one in steps).most_common(1)
    yield f"rank {rank} was the slowest in {count:,} of {counted(len(steps), 'step')}"


def ranks_object(account: RanksAccount | None) -> dict[str, Any] | None:
    """The same for JSON; None where ranks are not several."""
    if account is None:
        return None
    return {
        "count": len(account.ranks),
        "common_variants": account.common,
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
                "number": one.number,
                "slowest_rank": one.slowest,
                "duration_ms": one.duration_us / 1000,
                "ahead_ms": one.ahead_us / 1000,
                "waited_rank": one.waited,
                "waited_ms": one.waited_us / 1000,
            }
            for one in account.steps
        ],
    }

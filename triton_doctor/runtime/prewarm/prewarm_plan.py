"""The plan of a prewarm, its tasks and their outcomes, as plain values that pickle, for any executor."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triton_doctor.runtime.prewarm.closure import Closure, close_variants
from triton_doctor.runtime.prewarm.kernel_variants import RECORDED, gather_variants, retarget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant
    from triton_doctor.runtime.recording import Recording

COMPILED, FOUND, MISSED, FAILED, UNREACHABLE = "compiled", "found", "missed", "failed", "unreachable"
PRESENT = "in memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrewarmPlan:
    """What is to be compiled: `variants`, recorded and added, each for its target.

    `left_out` counts compiles that no launch asked for, `beyond` what was likely and too much to add. `made_with` are
    the versions that recorded.
    """

    variants: tuple[KernelVariant, ...]
    targets: tuple[str, ...]
    left_out: int
    beyond: int
    made_with: tuple[tuple[str, str], ...]

    @property
    def recorded(self) -> int:
        """Return the number of recorded variants."""
        return sum(variant.origin == RECORDED for variant in self.variants)


@dataclass(slots=True, kw_only=True, repr=False)
class Prewarmed:
    """The result of a plan: the outcome of each finished variant, by number.

    `tunings` counts the rounds of tuning whose results were read from disk into memory.
    """

    plan: PrewarmPlan
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    unused: tuple[tuple[str, str], ...] = ()
    tunings: int = 0

    def __repr__(self) -> str:
        """Return a summary in one line."""
        states = Counter(outcome.state for _, outcome in self.likely)
        counts = ", ".join(f"{count:,} {state}" for state, count in states.items())
        tuned = f"; results of tuning read: {self.tunings:,}" if self.tunings else ""
        return f"Prewarmed: {states.total():,} variants: {counts or 'none'}{tuned}"

    def with_state(self, *states: str) -> list[tuple[KernelVariant, Outcome]]:
        """Return the variants whose outcome has one of `states`, in order."""
        pairs = ((self.plan.variants[number], self.outcomes[number]) for number in sorted(self.outcomes))
        return [(variant, outcome) for variant, outcome in pairs if outcome.state in states]

    @property
    def likely(self) -> list[tuple[KernelVariant, Outcome]]:
        """Return the recorded variants, and the added ones that Triton specializes differently from others."""
        pairs = [(self.plan.variants[number], self.outcomes[number]) for number in sorted(self.outcomes)]
        return [(variant, outcome) for variant, outcome in pairs if variant.origin == RECORDED or outcome.same_key]

    @property
    def failures(self) -> tuple[tuple[str, str], ...]:
        """Return kernel name and reason of each recorded variant that could not be compiled or loaded."""
        return tuple(
            (variant.kernel.name, outcome.reason)
            for variant, outcome in self.likely
            if variant.origin == RECORDED and outcome.state in (FAILED, UNREACHABLE)
        )

    @property
    def is_whole(self) -> bool:
        """Return whether the cache has every recorded variant."""
        ready = {variant: outcome.state in (COMPILED, FOUND, PRESENT) for variant, outcome in self.likely}
        return all(fine for variant, fine in ready.items() if variant.origin == RECORDED)


def make_plan(
    recordings: Iterable[Recording],
    *,
    targets: Sequence[str] = (),
    closed: bool = True,
    foresee: Callable[[Sequence[KernelVariant]], Sequence[KernelVariant]] = lambda variants: (),
) -> PrewarmPlan:
    """Return the variants of `recordings`, and likely others, for `targets`, by default the recorded targets.

    `foresee` returns variants that the source needs beside these. With `closed` False only recorded ones are
    returned.
    """
    gathered = gather_variants(recordings)
    chosen = tuple(dict.fromkeys(targets)) or gathered.targets
    recorded: list[KernelVariant] = []
    for target in chosen:
        own = gathered.variants if targets else [v for v in gathered.variants if v.key.target == target]
        recorded += retarget(own, target)
    foreseen = foresee(recorded) if closed else ()
    variants: list[KernelVariant] = []
    beyond = 0
    for target in chosen:
        here = [variant for variant in recorded if variant.key.target == target]
        needed = [variant for variant in foreseen if variant.key.target == target]
        closure = close_variants(here, needed) if closed else Closure(added=())
        variants += (*here, *needed, *closure.added)
        beyond += closure.beyond
    return PrewarmPlan(
        variants=tuple(variants),
        targets=chosen,
        left_out=gathered.left_out,
        beyond=beyond,
        made_with=gathered.made_with,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Compile `variant` for the target of its key, or only look it up in the cache.

    `cache_dir` is the folder to fill; None where the worker shares no file system with us, and returns the files.
    `launcher` is whether to build the launcher too.
    """

    number: int
    variant: KernelVariant
    cache_dir: str | None
    lookup_only: bool = False
    launcher: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of the task `number`: COMPILED, FOUND, MISSED, PRESENT, FAILED or UNREACHABLE, with `reason`.

    `entry` is the folder of its entry; empty where it has none. `changed` is whether the kernel's source is no longer
    the recorded one. `same_key` is False where Triton bound it to another key than the variant's. `launcher` is empty,
    "built", or why it could not be. `files` are (path in the cache folder, content) of what was written.
    """

    number: int
    state: str
    entry: str = ""
    reason: str = ""
    changed: bool = False
    same_key: bool = True
    launcher: str = ""
    seconds: float = 0.0
    files: tuple[tuple[str, bytes], ...] = ()

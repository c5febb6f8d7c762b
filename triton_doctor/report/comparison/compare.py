"""Two runs to a Comparison: kernels found again, their variants, causes and times side by side."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.report.comparison.variant_keys import VariantChanges, compare_variants
from triton_doctor.runtime.account import account
from triton_doctor.runtime.causes import FIRST
from triton_doctor.runtime.event import HIDING, CompileEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from triton_doctor.runtime.account import Account
    from triton_doctor.runtime.event import KernelName
    from triton_doctor.runtime.kernel_account import KernelAccount
    from triton_doctor.runtime.recording import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeAfter:
    """A count, or microseconds, before and after."""

    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseComparison:
    """How often kernels compiled for one cause, and what that took. `parameter` None where it is none's."""

    code: str
    parameter: str | None
    count: BeforeAfter
    waited_us: BeforeAfter


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelComparison:
    """One kernel, as the run after names it. `is_new` or `is_gone` where only one run has it.

    `causes` are by code and parameter: a compile with several changed parameters counts, and costs, for each of them.
    `again` are by code alone: each compile counts once.
    """

    kernel: KernelName
    is_new: bool
    is_gone: bool
    variants: VariantChanges
    compiled: BeforeAfter
    from_disk: BeforeAfter
    rounds: BeforeAfter
    waited_us: BeforeAfter
    causes: tuple[CauseComparison, ...]
    again: tuple[CauseComparison, ...]

    @property
    def is_same(self) -> bool:
        """Whether nothing changed but time, and where a variant was found."""
        changes = self.variants
        moved = any(cause.count.before != cause.count.after for cause in self.causes)
        return not (changes.parameters or changes.new or changes.gone or changes.changed or moved) and (
            self.rounds.before == self.rounds.after
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs. `versions` are (name, before, after) of those that differ, the target among them.

    `hidden_before` and `hidden_after` are why variants may be missing.
    """

    kernels: tuple[KernelComparison, ...]
    wall_us: BeforeAfter
    versions: tuple[tuple[str, str, str], ...]
    hidden_before: tuple[str, ...]
    hidden_after: tuple[str, ...]

    @property
    def new_variants(self) -> int:
        """How many variants only the run after has."""
        return sum(len(kernel.variants.new) for kernel in self.kernels)

    def sum(self, name: str) -> BeforeAfter:
        """`compiled`, `from_disk`, `rounds` or `waited_us` of all kernels."""
        moved = [getattr(kernel, name) for kernel in self.kernels]
        return BeforeAfter(before=sum(one.before for one in moved), after=sum(one.after for one in moved))

    @property
    def causes(self) -> tuple[CauseComparison, ...]:
        """Of all kernels, by code, what took most first; a first compile is none."""
        by_code: defaultdict[str, list[CauseComparison]] = defaultdict(list)
        for one in self.kernels:
            for cause in one.again:
                by_code[cause.code].append(cause)
        told = [
            CauseComparison(
                code=code,
                parameter=None,
                count=_add(one.count for one in causes),
                waited_us=_add(one.waited_us for one in causes),
            )
            for code, causes in by_code.items()
        ]
        return tuple(sorted(told, key=lambda one: (-abs(one.waited_us.after - one.waited_us.before), one.code)))


def compare_runs(before: Sequence[Recording], after: Sequence[Recording]) -> Comparison:
    """Compare two runs, of one process or of many each."""
    accounts = account(before), account(after)
    pairs = _match(accounts[0].kernels, accounts[1].kernels)
    events = _compiles(before), _compiles(after)
    compared = [_compare(was, now, events[0], events[1]) for was, now in pairs]
    return Comparison(
        kernels=tuple(sorted(compared, key=lambda one: (-abs(one.waited_us.after - one.waited_us.before), one.kernel))),
        wall_us=BeforeAfter(before=accounts[0].wall_us, after=accounts[1].wall_us),
        versions=tuple(_versions(*accounts)),
        hidden_before=_hidden(before),
        hidden_after=_hidden(after),
    )


def _match(
    before: Iterable[KernelAccount], after: Iterable[KernelAccount]
) -> list[tuple[KernelAccount | None, KernelAccount | None]]:
    """Pairs of one kernel: of one name and module, then of one name that only these two have."""
    left = {(one.kernel.name, one.kernel.module, one.kernel.path, one.kernel.line): one for one in before}
    right = {(one.kernel.name, one.kernel.module, one.kernel.path, one.kernel.line): one for one in after}
    pairs: list[tuple[KernelAccount | None, KernelAccount | None]] = []
    # From all of it to the name alone: a file moves, and lines do.
    for known in (4, 3, 2, 1):
        names: list[defaultdict[tuple[object, ...], list[tuple[str, str, str, int]]]] = []
        for side in (left, right):
            by_name: defaultdict[tuple[object, ...], list[tuple[str, str, str, int]]] = defaultdict(list)
            for key in side:
                by_name[key[:known]].append(key)
            names.append(by_name)
        for name, keys in names[0].items():
            others = names[1].get(name, [])
            if len(keys) == len(others) == 1:
                pairs.append((left.pop(keys[0]), right.pop(others[0])))
    pairs += [(one, None) for one in left.values()]
    pairs += [(None, one) for one in right.values()]
    return pairs


def _compiles(recordings: Iterable[Recording]) -> dict[KernelName, list[CompileEvent]]:
    found: defaultdict[KernelName, list[CompileEvent]] = defaultdict(list)
    for recording in recordings:
        for event in recording.events:
            if isinstance(event, CompileEvent):
                found[event.kernel].append(event)
    return found


def _compare(
    was: KernelAccount | None,
    now: KernelAccount | None,
    events_before: dict[KernelName, list[CompileEvent]],
    events_after: dict[KernelName, list[CompileEvent]],
) -> KernelComparison:
    named = now or was
    assert named is not None
    return KernelComparison(
        kernel=named.kernel,
        is_new=was is None,
        is_gone=now is None,
        variants=compare_variants(
            [] if was is None else events_before.get(was.kernel, []),
            [] if now is None else events_after.get(now.kernel, []),
        ),
        compiled=_moved(was, now, "compiled"),
        from_disk=_moved(was, now, "from_disk"),
        rounds=_moved(was, now, "autotune_rounds"),
        waited_us=_moved(was, now, "waited_us"),
        causes=tuple(_causes(was, now)),
        again=tuple(_again(was, now)),
    )


def _moved(was: KernelAccount | None, now: KernelAccount | None, name: str) -> BeforeAfter:
    return BeforeAfter(before=0 if was is None else getattr(was, name), after=0 if now is None else getattr(now, name))


def _causes(was: KernelAccount | None, now: KernelAccount | None) -> Iterable[CauseComparison]:
    sides = [
        {(cause.code, cause.parameter): cause for cause in one.causes if cause.code != FIRST} if one else {}
        for one in (was, now)
    ]
    for key in sides[0] | sides[1]:
        before, after = (side.get(key) for side in sides)
        yield CauseComparison(
            code=key[0],
            parameter=key[1],
            count=BeforeAfter(before=before.count if before else 0, after=after.count if after else 0),
            waited_us=BeforeAfter(before=before.waited_us if before else 0, after=after.waited_us if after else 0),
        )


def _again(was: KernelAccount | None, now: KernelAccount | None) -> Iterable[CauseComparison]:
    sides = [{code: (count, waited_us) for code, count, waited_us in one.again} if one else {} for one in (was, now)]
    for code in sides[0] | sides[1]:
        before, after = (side.get(code, (0, 0)) for side in sides)
        yield CauseComparison(
            code=code,
            parameter=None,
            count=BeforeAfter(before=before[0], after=after[0]),
            waited_us=BeforeAfter(before=before[1], after=after[1]),
        )


def _add(moved: Iterable[BeforeAfter]) -> BeforeAfter:
    every = list(moved)
    return BeforeAfter(before=sum(one.before for one in every), after=sum(one.after for one in every))


def _versions(before: Account, after: Account) -> Iterable[tuple[str, str, str]]:
    sides = [
        {name: version for process in run.processes for name, version in process.header.versions}
        | {"target": ", ".join(sorted({process.header.target for process in run.processes if process.header.target}))}
        for run in (before, after)
    ]
    for name in sorted(sides[0] | sides[1]):
        was, now = (side.get(name, "") for side in sides)
        if was != now:
            yield name, was or "none", now or "none"


def _hidden(recordings: Iterable[Recording]) -> tuple[str, ...]:
    found = (warning.message for recording in recordings for warning in recording.warnings if warning.kind in HIDING)
    return tuple(dict.fromkeys(found))

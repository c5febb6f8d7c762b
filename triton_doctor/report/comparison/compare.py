"""Two runs to a Comparison: kernels and variants matched, with their causes and times side by side.

Variants match whatever machine and Triton compiled them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.runtime.account import account
from triton_doctor.runtime.cause_table import FIRST
from triton_doctor.runtime.event import HIDING, CompileEvent
from triton_doctor.runtime.key_changes import INTEGERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from triton_doctor.runtime.account import Account
    from triton_doctor.runtime.event import KernelName
    from triton_doctor.runtime.kernel_account import KernelAccount
    from triton_doctor.runtime.recording import Recording

CONSTEXPR, ARGUMENT, OPTION = "constexpr", "argument", "option"
CLASSES = {"=1": "1", "%16": "multiple of 16", "": "other"}


class PassedValue(NamedTuple):
    """A parameter, or an option, and what it is in a variant."""

    kind: str
    name: str
    value: str


Key = tuple[PassedValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterChange:
    """A parameter that is of another kind than before. None where the kernel does not have it."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantChanges:
    """How the variants of one kernel differ. Variants are by the parts that are not the same in all of both runs.

    `changed` are (before, after) of the same parameters. `parameters` are of another kind now: variants are compared
    without these.
    """

    before: int
    after: int
    parameters: tuple[ParameterChange, ...]
    new: tuple[Key, ...]
    gone: tuple[Key, ...]
    changed: tuple[tuple[Key, Key], ...]


def compare_variants(before: Iterable[CompileEvent], after: Iterable[CompileEvent]) -> VariantChanges:
    """Compare what one kernel compiled, or loaded, in two runs; where only one has it, all of it is new, or gone."""
    keys_before = list(dict.fromkeys(read_key(event) for event in before))
    keys_after = list(dict.fromkeys(read_key(event) for event in after))
    parameters: tuple[ParameterChange, ...] = ()
    left_out: set[tuple[str, str]] = set()
    if keys_before and keys_after:
        kinds_before, kinds_after = _kinds(keys_before), _kinds(keys_after)
        for name in kinds_before | kinds_after:
            was, now = kinds_before.get(name), kinds_after.get(name)
            if was != now:
                left_out |= {(kind, name) for kind in (was, now) if kind}
                # What options there are depends on Triton.
                if OPTION not in (was, now):
                    parameters += (ParameterChange(name=name, before=was, after=now),)
    kept_before, kept_after = _without(keys_before, left_out), _without(keys_after, left_out)
    shown = _differing([*kept_before, *kept_after])
    new = [key for key in kept_after if key not in set(kept_before)]
    gone = [key for key in kept_before if key not in set(kept_after)]
    changed = _pair(gone, new)
    was_paired, now_paired = {pair[0] for pair in changed}, {pair[1] for pair in changed}
    return VariantChanges(
        before=len(keys_before),
        after=len(keys_after),
        parameters=parameters,
        new=tuple(_show(key, shown) for key in new if key not in now_paired),
        gone=tuple(_show(key, shown) for key in gone if key not in was_paired),
        changed=tuple((_show(was, shown), _show(now, shown)) for was, now in changed),
    )


def read_key(event: CompileEvent) -> Key:
    """Return what the launch that compiled `event` passed: constexprs, arguments by class or type, and options."""
    constants, classes = dict(event.key.constants), dict(event.key.attributes)
    parts = []
    for name, kind in event.key.signature:
        if kind == "constexpr":
            parts.append(PassedValue(CONSTEXPR, name, repr(constants.get(name))))
        elif kind in INTEGERS:
            value = CLASSES.get(classes.get(name, ""), classes.get(name, ""))
            parts.append(PassedValue(ARGUMENT, name, value if kind == "i32" else f"{value} ({kind})"))
        else:
            unaligned = kind.startswith("*") and not classes.get(name)
            parts.append(PassedValue(ARGUMENT, name, f"{kind}, not aligned" if unaligned else kind))
    return (*parts, *(PassedValue(OPTION, name, repr(value)) for name, value in event.key.options))


def _kinds(keys: Sequence[Key]) -> dict[str, str]:
    """Return the kind of each parameter; an argument that was None in some launches is still an argument."""
    kinds: dict[str, str] = {}
    for key in keys:
        for part in key:
            if kinds.get(part.name) != ARGUMENT:
                kinds[part.name] = part.kind
    return kinds


def _without(keys: Iterable[Key], left_out: set[tuple[str, str]]) -> list[Key]:
    return list(dict.fromkeys(tuple(part for part in key if part[:2] not in left_out) for key in keys))


def _pair(gone: Sequence[Key], new: Sequence[Key]) -> list[tuple[Key, Key]]:
    """Match variants that have the same parameters and differ in options only, as pairs of (gone, new)."""
    by_parameters: dict[Key, list[Key]] = {}
    for key in new:
        by_parameters.setdefault(_parameters(key), []).append(key)
    pairs = []
    for key in gone:
        same = by_parameters.get(_parameters(key))
        if same:
            pairs.append((key, same.pop(0)))
    return pairs


def _parameters(key: Key) -> Key:
    return tuple(part for part in key if part.kind != OPTION)


def _differing(keys: Sequence[Key]) -> set[tuple[str, str]]:
    values: dict[tuple[str, str], set[str]] = {}
    for key in keys:
        for part in key:
            values.setdefault((part.kind, part.name), set()).add(part.value)
    return {name for name, seen in values.items() if len(seen) > 1}


def _show(key: Key, shown: set[tuple[str, str]]) -> Key:
    return tuple(part for part in key if part[:2] in shown)


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
        """Return whether nothing changed except times, and whether variants came from disk."""
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
        """Count the variants that only the run after has."""
        return sum(len(kernel.variants.new) for kernel in self.kernels)

    def sum(self, name: str) -> BeforeAfter:
        """Return the sum over all kernels of `name`: `compiled`, `from_disk`, `rounds` or `waited_us`."""
        moved = [getattr(kernel, name) for kernel in self.kernels]
        return BeforeAfter(before=sum(change.before for change in moved), after=sum(change.after for change in moved))

    @property
    def causes(self) -> tuple[CauseComparison, ...]:
        """Return the causes of all kernels by code, without first compiles; the largest change in time first."""
        by_code: defaultdict[str, list[CauseComparison]] = defaultdict(list)
        for kernel in self.kernels:
            for cause in kernel.again:
                by_code[cause.code].append(cause)
        compared = [
            CauseComparison(
                code=code,
                parameter=None,
                count=_add(cause.count for cause in causes),
                waited_us=_add(cause.waited_us for cause in causes),
            )
            for code, causes in by_code.items()
        ]
        return tuple(
            sorted(compared, key=lambda cause: (-abs(cause.waited_us.after - cause.waited_us.before), cause.code))
        )


def compare_runs(before: Sequence[Recording], after: Sequence[Recording]) -> Comparison:
    """Compare two runs, of one process or of many each."""
    accounts = account(before), account(after)
    pairs = _match(accounts[0].kernels, accounts[1].kernels)
    events = _compiles(before), _compiles(after)
    compared = [_compare(was, now, events[0], events[1]) for was, now in pairs]
    return Comparison(
        kernels=tuple(
            sorted(compared, key=lambda kernel: (-abs(kernel.waited_us.after - kernel.waited_us.before), kernel.kernel))
        ),
        wall_us=BeforeAfter(before=accounts[0].wall_us, after=accounts[1].wall_us),
        versions=tuple(_versions(*accounts)),
        hidden_before=_hidden(before),
        hidden_after=_hidden(after),
    )


def _match(
    before: Iterable[KernelAccount], after: Iterable[KernelAccount]
) -> list[tuple[KernelAccount | None, KernelAccount | None]]:
    """Match the kernels of both runs in pairs; None for a kernel that only one run has.

    They match by name, module, path and line, then by ever fewer of these, if only one kernel on each side does.
    """
    left = {(name.name, name.module, name.path, name.line): kernel for kernel in before for name in [kernel.kernel]}
    right = {(name.name, name.module, name.path, name.line): kernel for kernel in after for name in [kernel.kernel]}
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
    pairs += [(kernel, None) for kernel in left.values()]
    pairs += [(None, kernel) for kernel in right.values()]
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
        {(cause.code, cause.parameter): cause for cause in kernel.causes if cause.code != FIRST} if kernel else {}
        for kernel in (was, now)
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
    sides = [
        {code: (count, waited_us) for code, count, waited_us in kernel.again} if kernel else {} for kernel in (was, now)
    ]
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
    return BeforeAfter(before=sum(change.before for change in every), after=sum(change.after for change in every))


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

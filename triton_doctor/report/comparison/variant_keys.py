"""The variants of a kernel in two runs: which are new, gone and changed, whatever machine and Triton compiled them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.runtime.keys import INTEGERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from triton_doctor.runtime.event import CompileEvent

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
    """What the launch that compiled `event` passed."""
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
    """The kind of each parameter; one that was None in a launch is a constexpr there, and an argument elsewhere."""
    kinds: dict[str, str] = {}
    for key in keys:
        for part in key:
            if kinds.get(part.name) != ARGUMENT:
                kinds[part.name] = part.kind
    return kinds


def _without(keys: Iterable[Key], left_out: set[tuple[str, str]]) -> list[Key]:
    return list(dict.fromkeys(tuple(part for part in key if part[:2] not in left_out) for key in keys))


def _pair(gone: Sequence[Key], new: Sequence[Key]) -> list[tuple[Key, Key]]:
    """Those of the same parameters, in which only options differ."""
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

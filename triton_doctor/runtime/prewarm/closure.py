"""Variants that a run is likely to have missed: one step of an argument's class away from those it compiled.

Triton compiles anew for each class of an integer (1, divisible by 16, other, 64 bit), each alignment of a pointer and
each dtype. A run meets some of them; the next one meets the others. For each recorded variant:

- an *integer that varies* takes each class, 64 bit only where one of the kernel's was seen. It varies if it had two
  classes or values beside the same constants, options and dtypes: one that follows a constant would not. Integers that
  always had one value between them, such as a length and the stride that equals it, move together. Up to CROSSED of
  such groups are combined, more are moved one at a time.
- a pointer that was seen aligned and unaligned, beside the same of these, takes the other.
- the dtypes of all arguments together take each combination that was seen with other constants; not where a constant
  is a dtype itself, which would have to follow.

- a launch takes the config that won a round of tuning, which a dry run cannot know and another GPU may choose
  otherwise: each config that a round of the kernel tried is combined with what was launched.

What was not seen to vary is not added: three classes of each integer of a kernel would be thousands of variants.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from triton_doctor.runtime.event import Scalar
from triton_doctor.runtime.key_changes import INTEGERS
from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant, identify

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.runtime.event import CompileKey

IntegerClass = tuple[str, str]
"""A type and the class in it: `("i32", "%16")`."""

INTEGER, ALIGNMENT, DTYPE, CONFIG = "integer classes", "alignments", "dtypes", "configs"
ALIGNED = "%16"
CROSSED = 3
# Of one kernel. Each costs a compile, and beyond that a kernel has another problem, which `check` names.
ADDED_AT_MOST = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """The variants that were `added`, and how many more of a kernel there would be than ADDED_AT_MOST."""

    added: tuple[KernelVariant, ...]
    beyond: int = 0


def close_variants(variants: Sequence[KernelVariant], foreseen: Sequence[KernelVariant] = ()) -> Closure:
    """Return likely variants that are missing among the recorded `variants`, for each kernel.

    Variants `foreseen` from the source are combined with the autotuning configs only.
    """
    known = {identify(variant) for variant in (*variants, *foreseen)}
    added = [variant for variant in _configs(foreseen) if identify(variant) not in known]
    known |= {identify(variant) for variant in added}
    kernels: dict[object, list[KernelVariant]] = defaultdict(list)
    for variant in variants:
        kernels[variant.kernel, variant.source, variant.key.target].append(variant)
    beyond = 0
    for group in kernels.values():
        here: list[KernelVariant] = []
        for variant in itertools.chain(_integers(group), _alignments(group), _dtypes(group), _configs(group)):
            identity = identify(variant)
            if identity not in known:
                known.add(identity)
                here.append(variant)
        added += here[:ADDED_AT_MOST]
        beyond += len(here[ADDED_AT_MOST:])
    return Closure(added=tuple(added), beyond=beyond)


def _integers(group: Sequence[KernelVariant]) -> Iterator[KernelVariant]:
    families = _families(group)
    varying = [
        name
        for name in _integer_names(group)
        if any(_varies(name, family) for family in families) and _is_specialized(name, group)
    ]
    ties = _tie(varying, group)
    for variant in group:
        here = [tie for tie in ties if all(_class(variant.key, name) is not None for name in tie)]
        choices = [_choices(tie, variant, group) for tie in here]
        for step in _steps(choices, [_class(variant.key, tie[0]) for tie in here]):
            key = variant.key
            for tie, new in zip(here, step, strict=True):
                # What stays as it is need not be one class for all of a tie.
                if new is not None and new != _class(variant.key, tie[0]):
                    for name in tie:
                        key = with_class(key, name, *new)
            yield replace(variant, key=key, origin=INTEGER, values=())


def _families(group: Sequence[KernelVariant]) -> list[list[KernelVariant]]:
    """Group variants that differ only in the classes of their arguments."""
    families: dict[object, list[KernelVariant]] = defaultdict(list)
    for variant in group:
        constants = tuple((name, repr(value)) for name, value in variant.key.constants)
        families[constants, variant.exact, variant.key.options, _pattern(variant.key)].append(variant)
    return list(families.values())


def _steps(
    choices: list[list[IntegerClass]], now: list[IntegerClass | None]
) -> Iterator[Sequence[IntegerClass | None]]:
    """Yield all combinations of `choices` if there are few; else those that differ from `now` in one place."""
    if len(choices) <= CROSSED:
        yield from itertools.product(*choices)
        return
    for at, classes in enumerate(choices):
        for other in classes:
            yield [*now[:at], other, *now[at + 1 :]]


def _choices(tie: Sequence[str], variant: KernelVariant, group: Sequence[KernelVariant]) -> list[IntegerClass]:
    classes = [("i32", "=1"), ("i32", ALIGNED), ("i32", "")]
    seen = {_class(other.key, name) for other in group for name in tie}
    classes += [
        (kind, each) for kind in ("i64", "u64") for each in (ALIGNED, "") if any(c and c[0] == kind for c in seen)
    ]
    now = _class(variant.key, tie[0])
    return [*classes, *([now] if now is not None and now not in classes else [])]


def _integer_names(group: Sequence[KernelVariant]) -> list[str]:
    return list(dict.fromkeys(name for variant in group for name, kind in variant.key.signature if kind in INTEGERS))


def _varies(name: str, group: Sequence[KernelVariant]) -> bool:
    classes = {_class(variant.key, name) for variant in group} - {None}
    return len(classes) > 1 or len(_values(name, group)) > 1


def _is_specialized(name: str, group: Sequence[KernelVariant]) -> bool:
    """Return False if a value lacks a class it should have: the kernel has `do_not_specialize` for it."""
    return not any(
        _class(variant.key, name) == ("i32", "") and (value == 1 or value % 16 == 0)
        for variant in group
        for value in _values(name, [variant])
    )


def _values(name: str, group: Sequence[KernelVariant]) -> set[int]:
    return {value for variant in group for seen, value in variant.values if seen == name and type(value) is int}


def _tie(names: Sequence[str], group: Sequence[KernelVariant]) -> list[list[str]]:
    """Group `names` that had equal values in every variant."""
    groups: dict[object, list[str]] = {}
    for name in names:
        seen = tuple(tuple(sorted(_values(name, [variant]))) for variant in group)
        groups.setdefault(seen if any(seen) else name, []).append(name)
    return list(groups.values())


def _class(key: CompileKey, name: str) -> IntegerClass | None:
    kind = dict(key.signature).get(name)
    return (kind, dict(key.attributes).get(name, "")) if kind in INTEGERS else None


def with_class(key: CompileKey, name: str, kind: str, attribute: str) -> CompileKey:
    """Return `key` with another type and class of the argument `name`."""
    signature = tuple((each, kind if each == name else old) for each, old in key.signature)
    return replace(key, signature=signature, attributes=with_attribute(key, name, attribute))


def with_attribute(key: CompileKey, name: str, attribute: str) -> tuple[tuple[str, str], ...]:
    """Return the attributes of `key` with another one of the argument `name`."""
    attributes = dict(key.attributes) | {name: attribute}
    return tuple((each, attributes[each]) for each, _ in key.signature if attributes.get(each))


def _alignments(group: Sequence[KernelVariant]) -> Iterator[KernelVariant]:
    both = [
        name
        for name in dict.fromkeys(name for variant in group for name, _ in _pattern(variant.key))
        if any(_differs_in_alignment(name, family) for family in _families(group))
    ]
    for variant in group:
        for name in both:
            if dict(variant.key.signature).get(name, "").startswith("*"):
                attribute = "" if _is_aligned(variant.key, name) else ALIGNED
                key = replace(variant.key, attributes=with_attribute(variant.key, name, attribute))
                yield replace(variant, key=key, origin=ALIGNMENT, values=())


def _differs_in_alignment(name: str, family: Sequence[KernelVariant]) -> bool:
    return len({_is_aligned(variant.key, name) for variant in family if name in dict(_pattern(variant.key))}) > 1


def _is_aligned(key: CompileKey, name: str) -> bool:
    return ALIGNED in dict(key.attributes).get(name, "").split()


def _dtypes(group: Sequence[KernelVariant]) -> Iterator[KernelVariant]:
    patterns = list(dict.fromkeys(_pattern(variant.key) for variant in group))
    for variant, pattern in itertools.product(group, patterns):
        now = _pattern(variant.key)
        if pattern == now or [name for name, _ in pattern] != [name for name, _ in now]:
            continue
        if variant.exact is None or any('"dtype"' in text for _, text in variant.exact):
            continue
        kinds = dict(pattern)
        signature = tuple((name, kinds.get(name, kind)) for name, kind in variant.key.signature)
        yield replace(variant, key=replace(variant.key, signature=signature), origin=DTYPE, values=())


def _pattern(key: CompileKey) -> tuple[tuple[str, str], ...]:
    """Return the pointer dtypes of the arguments; those that are None are absent."""
    return tuple((name, kind) for name, kind in key.signature if kind.startswith("*"))


def _configs(group: Sequence[KernelVariant]) -> Iterator[KernelVariant]:
    for variant in group:
        for text in variant.configs:
            chosen = _read_config(text)
            constants = tuple((name, chosen.get(name, value)) for name, value in variant.key.constants)
            options = tuple((name, chosen.get(name, value)) for name, value in variant.key.options)
            key = replace(variant.key, constants=constants, options=options, spelled=_spell(variant.key, chosen))
            yield replace(variant, key=key, origin=CONFIG, values=())


def _read_config(text: str) -> dict[str, Scalar]:
    """Parse a config such as `BLOCK: 64, num_warps: 4` (triton 3.9 autotuner.py, Config.__str__).

    Leaves out values that are no plain constants.
    """
    chosen: dict[str, Scalar] = {}
    for part in text.split(", "):
        name, _, value = part.partition(": ")
        with contextlib.suppress(ValueError, SyntaxError):
            read = ast.literal_eval(value)
            if isinstance(read, Scalar):
                chosen[name] = read
    return chosen


def _spell(key: CompileKey, chosen: Mapping[str, Scalar]) -> tuple[str, ...]:
    """Return the launch options as written with the config `chosen`; a config does not pass options that are None."""
    written = {text.partition("=")[0]: text for text in key.spelled}
    known = dict(key.options)
    for name, value in chosen.items():
        if name in written or (name in known and value is not None):
            written[name] = f"{name}={value}"
    return tuple(written.values())

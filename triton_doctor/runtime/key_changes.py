"""What differs between two keys of one kernel, part by part, and the rule that each difference falls under."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.runtime.cause_table import CODE_OF_PART, CONSTEXPR, EQUAL_VALUES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.runtime.event import AutotuneEvent, CompileEvent, CompileKey, Scalar

INTEGERS = frozenset({"i32", "i64", "u64"})
# Options that say how to check or instrument a kernel rather than how to build it fast (triton 3.9
# backends/nvidia/compiler.py, CUDAOptions); `debug` and `instrumentation_mode` are added to each launch by triton.
MODES = frozenset({"debug", "sanitize_overflow", "instrumentation_mode", "fpsan_homomorphic_casts", "enable_iisan"})


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyChange:
    """A difference in the `part` of the key called `name`: the value was `before` and is `after`. `code` is its cause.

    For `part` see `cause_table`. None as `before` or `after` of an integer means that its value is not known.
    """

    code: str
    part: str
    name: str
    before: Scalar
    after: Scalar
    detail: str = ""


def compare(event: CompileEvent, other: CompileEvent) -> tuple[KeyChange, ...]:
    """Return how `event` differs from `other`, an earlier event of the same kernel; empty without a difference."""
    changes = [*_parameters(event, other), *_options(event.key, other.key)]
    if (event.device, event.key.target) != (other.device, other.key.target):
        before, after = f"{other.key.target} device {other.device}", f"{event.key.target} device {event.device}"
        changes.append(_change("device", "device", before, after))
    if event.generated is not None:
        # Whatever else differs made the generator write other code.
        if event.shapes != other.shapes or (event.source != other.source and not changes):
            name = "shapes" if event.shapes else "code"
            changes.append(_change("shapes", name, other.shapes, event.shapes))
    elif event.source != other.source:
        changes.append(_change("source", "source", other.source, event.source))
    elif event.made != other.made:
        changes.append(_change("object", "kernel", other.made, event.made))
    return tuple(changes)


def compare_tuning(event: AutotuneEvent, other: AutotuneEvent) -> tuple[KeyChange, ...]:
    """Return how the tuning keys differ; keys of different length give a single change."""
    if [name for name, _ in event.key] != [name for name, _ in other.key]:
        before, after = (str([value for _, value in compared.key]) for compared in (other, event))
        return (_change("tuning", "key", before, after),)
    return tuple(
        _change("tuning", name, before, after)
        for (name, after), (_, before) in zip(event.key, other.key, strict=True)
        if repr(after) != repr(before)
    )


def part_of_option(name: str) -> str:
    """Return the part of the key that the launch option `name` belongs to."""
    return "mode" if name in MODES else "option"


def _change(part: str, name: str, before: Scalar, after: Scalar, detail: str = "") -> KeyChange:
    return KeyChange(code=CODE_OF_PART[part], part=part, name=name, before=before, after=after, detail=detail)


def _parameters(event: CompileEvent, other: CompileEvent) -> Iterator[KeyChange]:
    now, then = event.key, other.key
    values, values_then = dict(event.values), dict(other.values)
    constants, constants_then = dict(now.constants), dict(then.constants)
    classes, classes_then = dict(now.attributes), dict(then.attributes)
    types, types_then = dict(now.signature), dict(then.signature)
    for name in types | types_then:
        after, before = types.get(name, "absent"), types_then.get(name, "absent")
        if after == before == "constexpr":
            yield from _constexpr(name, constants_then.get(name), constants.get(name))
        elif after in INTEGERS and before in INTEGERS:
            class_now, class_then = (after, classes.get(name, "")), (before, classes_then.get(name, ""))
            if class_now != class_then:
                detail = _integer_detail(class_then, class_now)
                yield _change("integer", name, values_then.get(name), values.get(name), detail)
        else:
            if after != before:
                yield _change("none" if "none" in (after, before) else "dtype", name, before, after)
            if "none" not in (after, before) and classes.get(name, "") != classes_then.get(name, ""):
                yield _change("alignment", name, classes_then.get(name, ""), classes.get(name, ""))


def _constexpr(name: str, before: Scalar, after: Scalar) -> Iterator[KeyChange]:
    if repr(before) != repr(after):
        code = EQUAL_VALUES if before == after else CONSTEXPR
        yield KeyChange(code=code, part="constexpr", name=name, before=before, after=after)


def _integer_detail(before: tuple[str, str], after: tuple[str, str]) -> str:
    match before, after:
        case (_, "=1"), _:
            return "no longer the constant 1"
        case _, (_, "=1"):
            return "became the constant 1"
        case (wide, _), (narrow, _) if wide != narrow:
            return f"now {narrow}, was {wide}"
        case _, (_, "%16"):
            return "now divisible by 16"
        case _:
            return "no longer divisible by 16"


def _options(now: CompileKey, then: CompileKey) -> Iterator[KeyChange]:
    options, options_then = dict(now.options), dict(then.options)
    differing = [name for name in options | options_then if options.get(name) != options_then.get(name)]
    for name in differing:
        yield _change(part_of_option(name), name, options_then.get(name), options.get(name))
    if not differing and now.spelled != then.spelled:
        before, after = ", ".join(then.spelled), ", ".join(now.spelled)
        yield _change("spelling", "options", before, after)

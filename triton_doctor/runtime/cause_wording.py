"""A cause in words: `n` is 17, was 16: no longer divisible by 16."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.runtime.cause_table import AT_ONCE, EQUAL_VALUES
from triton_doctor.runtime.key_changes import MODES

if TYPE_CHECKING:
    from triton_doctor.runtime.causes import Recompile, ValuesSeen
    from triton_doctor.runtime.event import Scalar
    from triton_doctor.runtime.key_changes import KeyChange


def describe_recompile(recompile: Recompile) -> str:
    """Describe the changes that caused a compile in one line, the deciding change first."""
    if recompile.nearest is None:
        return "the first variant of its kernel in this process"
    if recompile.code == AT_ONCE:
        return f"thread {recompile.nearest.thread} was compiling the same key: Triton has no lock there"
    if not recompile.changes:
        return "nothing in its key changed: the kernel, or its cache in memory, was created again"
    seen = {values.name: values for values in recompile.seen}
    ordered = sorted(recompile.changes, key=lambda change: change.code != recompile.code)
    return "; ".join(describe_change(change, seen.get(change.name)) for change in ordered)


def describe_change(change: KeyChange, seen: ValuesSeen | None = None) -> str:
    """Describe one change: value now and before, and the effect. `seen` are the earlier values."""
    match change.part:
        case "integer" if change.after is None:
            return f"`{change.name}` {'' if change.detail.startswith('became') else 'is '}{change.detail}"
        case "integer" if change.before is None:
            return f"`{change.name}` is {change.after}: {change.detail}"
        case "integer":
            return f"{_now_and_before(change)}: {change.detail}"
        case "constexpr" if change.code == EQUAL_VALUES:
            return f"{_now_and_before(change)}: equal values of two types, which can share one kernel"
        case "constexpr" if seen is not None:
            return f"{_now_and_before(change)}: {_so_far(seen)}"
        case "tuning":
            return f"the tuning key's {_now_and_before(change)}"
        case "alignment" if "%16" in str(change.after) and "%16" not in str(change.before):
            return f"`{change.name}` is aligned to 16 bytes, was not"
        case "alignment" if "%16" in str(change.before) and "%16" not in str(change.after):
            return f"`{change.name}` is not aligned to 16 bytes, was aligned"
        case "alignment":
            return f"`{change.name}` is of another class: {change.after or 'none'}, was {change.before or 'none'}"
        case "spelling":
            return f"the same options, spelled ({launch_wrote(change.after)}), were ({launch_wrote(change.before)})"
        case "device":
            return f"on {change.after}, was on {change.before}"
        case "source":
            return "the source of the kernel, or a constant it captures, changed"
        case "shapes" if change.after:
            return f"Helion generated it for shapes {change.after}, was {change.before}: static_shapes is on"
        case "shapes":
            return "Helion generated other code for it"
        case "object":
            return f"the kernel was created again: object {change.after} of that name"
        case _:
            return _now_and_before(change)


def _now_and_before(change: KeyChange) -> str:
    if change.part in ("constexpr", "option", "mode", "integer", "tuning"):
        return f"`{change.name}` is {change.after!r}, was {change.before!r}"
    return f"`{change.name}` is {change.after}, was {change.before}"


def launch_wrote(options: Scalar) -> str:
    """Return the options without those that Triton adds to each launch (triton 3.9 jit.py:723)."""
    written = [option for option in str(options).split(", ") if option.partition("=")[0] not in MODES]
    return ", ".join(written) or "not at all"


def _so_far(seen: ValuesSeen) -> str:
    shown = ", ".join(repr(value) for value in seen.first)
    return f"{seen.count} values so far: {shown}{', ...' if seen.count > len(seen.first) else ''}"

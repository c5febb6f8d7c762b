"""Shapes of arguments that code states: asserts, `torch._check` and einops patterns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.static.python.reaching_definitions import are_exclusive
from triton_doctor.static.variability.notes.axis_meanings import OPEN
from triton_doctor.static.variability.notes.axis_names import keeps_shape
from triton_doctor.static.variability.notes.written_shapes import (
    UNCLEAR,
    ShapeNote,
    first_bracket,
    note_of_axes,
    read_note,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from triton_doctor.static.python.function import BranchArm, Function

_ASSERTED = re.compile(
    r"(?:\bassert\s+|\b_check\(\s*)(?:tuple\(|list\()?([A-Za-z_]\w*)\.(?:shape|size\(\))\)?\s*==\s*(?:torch\.Size\()?(?=[(\[])"
)
_EINOPS_FUNCTIONS = ("rearrange(", "reduce(", "repeat(")
_EINOPS = re.compile(r"\b(?:rearrange|reduce|repeat)\(\s*([A-Za-z_]\w*)\s*,\s*[rf]?[\"']([^\"']*?)->")
_EINOPS_AXIS = re.compile(r"\.\.\.|\([^)]*\)|[\w*]+")


def notes_in_code(
    function: Function, names: Collection[str], bound: Mapping[str, int]
) -> Iterator[tuple[str, ShapeNote]]:
    """Yield what the code of `function` states about `names`, which it rebinds to other shapes on the lines `bound`."""
    found: dict[str, list[ShapeNote]] = {}
    for name, note in _in_code(function.text.text, function.line, names):
        if note.line <= bound.get(name, note.line) or _is_in_other_branch(function, name, note.line):
            found.setdefault(name, []).append(note)
    for name, notes in found.items():
        agreed = _agreed(function, notes)
        if agreed is not None:
            yield name, agreed


def may_assert(text: str) -> bool:
    """Return whether `text` may assert a shape."""
    return "==" in text and ("assert" in text or "_check" in text) and (".shape" in text or ".size" in text)


def may_rearrange(text: str) -> bool:
    """Return whether `text` may contain an einops pattern."""
    return "->" in text and any(name in text for name in _EINOPS_FUNCTIONS)


def _is_in_other_branch(function: Function, name: str, line: int) -> bool:
    """Return whether every reshaping rebinding of `name` before `line` is in a branch that excludes that line."""
    own = _arms_at(function, line)
    return all(
        one.line >= line or are_exclusive(one.arms, own) or keeps_shape(one.value, name)
        for one in function.bindings.get(name, ())
    )


def _agreed(function: Function, notes: Sequence[ShapeNote]) -> ShapeNote | None:
    """Return the first of `notes`, joined with those in other branches, of which any may run."""
    first, *others = notes
    own = _arms_at(function, first.line)
    for other in others:
        if not are_exclusive(own, _arms_at(function, other.line)):
            continue
        if len(other.axes) != len(first.axes):
            return None
        axes = (one if one == second else UNCLEAR for one, second in zip(first.axes, other.axes, strict=True))
        first = first._replace(axes=tuple(axes))
    return first


def _arms_at(function: Function, line: int) -> tuple[BranchArm, ...]:
    return next((site.arms for site in function.calls if site.line == line), ())


def _in_code(text: str, start: int, names: Collection[str]) -> Iterator[tuple[str, ShapeNote]]:
    """Yield what asserts, `torch._check` and einops patterns state about `names`."""
    if may_assert(text):
        for found in _ASSERTED.finditer(text):
            line = start + text.count("\n", 0, found.start())
            note = read_note(f"shape {first_bracket(text[found.end() :])}", "assert", line)
            if note is not None and found[1] in names:
                yield found[1], note
    for found in _EINOPS.finditer(text) if may_rearrange(text) else ():
        axes = [OPEN if axis == OPEN else "*".join(axis.strip("()").split()) for axis in _EINOPS_AXIS.findall(found[2])]
        note = note_of_axes(axes, f'"{found[2].strip()}"', "pattern", start + text.count("\n", 0, found.start()))
        if note is not None and found[1] in names:
            yield found[1], note

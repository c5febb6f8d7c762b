"""Text to the shapes written in it: `(B, T, 2 * D)` and `[num_tokens, heads, dim]`, to the names of the axes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.static.variability.axis_meanings import OPEN, has_meaning

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_AXES = 8

_SPLIT = re.compile(r"[\s_]+")
_AXIS = re.compile(r"[\w.\s+\-*/×()]+")  # noqa: RUF001
_NAMED = re.compile(r"[A-Za-z]")
# Names that stand for an axis by their look: `B`, `NH`, `T_q`, `DHQK`.
_LETTERS = re.compile(r"[A-Z][A-Z0-9]{0,4}(?:_\w{1,4})?|[a-z]\d?")
_BEFORE_SHAPE = re.compile(r"(?:shape|size|dims?|layout)\s*[:=]?\s*(?:is|are|of)?\s*[`'\"]*\Z", re.IGNORECASE)


def written_shapes(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """The brackets in `text` that name axes, with where they begin and end; of nested ones the outer."""
    taken = 0
    for start, end in brackets(text):
        if start >= taken:
            is_shape = text[start] == "[" or _BEFORE_SHAPE.search(text[:start]) is not None
            axes = _axes(text[start + 1 : end - 1], is_shape=is_shape)
            if axes is not None:
                taken = end
                yield start, end, axes


def brackets(text: str) -> list[tuple[int, int]]:
    """Where each bracket of `text` opens, and where the text behind it begins, in order."""
    opened: list[int] = []
    found: list[tuple[int, int]] = []
    for at, character in enumerate(text):
        if character in "([":
            opened.append(at)
        elif character in ")]" and opened:
            found.append((opened.pop(), at + 1))
    return sorted(found)


def _axes(inside: str, *, is_shape: bool) -> tuple[str, ...] | None:
    """What `inside` names between its commas; None where these are no axes. One alone is where it `is_shape`."""
    items = [item.strip().strip("`'\"") for item in _split(inside)]
    has_comma = len(items) > 1
    if items and not items[-1]:
        items.pop()
    if not 1 <= len(items) <= MOST_AXES or not (has_comma or is_shape):
        return None
    axes = tuple(map(_axis, items))
    if None in axes or axes.count(OPEN) > 1 or not any(_NAMED.search(axis or "") for axis in axes):
        return None
    known = sum(_looks_like_axis(axis) for axis in axes if axis is not None)
    return tuple(axis for axis in axes if axis is not None) if known * 2 >= len(axes) else None


def _split(inside: str) -> Iterator[str]:
    depth = start = 0
    for at, character in enumerate(inside):
        if character == "," and not depth:
            yield inside[start:at]
            start = at + 1
        depth += (character in "([") - (character in ")]")
    yield inside[start:]


def _axis(item: str) -> str | None:
    """An item of a shape as it is written, words joined: `batch size` is `batch_size`; None where it is none."""
    if item in ("...", "…", "*"):
        return OPEN
    # A shape has no axis of none: `[0, T - 1]` is a range.
    if not item or item == "0" or not _AXIS.fullmatch(item) or item.endswith("."):
        return None
    if re.search(r"\w\s+\w", item):
        words = _SPLIT.split(item)
        return "_".join(words) if len(words) <= 3 and item.islower() and has_meaning("_".join(words)) else None
    return item


def _looks_like_axis(axis: str) -> bool:
    return (
        axis == OPEN
        or axis.lstrip("-").isdecimal()
        or any(_LETTERS.fullmatch(word) is not None or has_meaning(word) for word in re.findall(r"[A-Za-z_]\w*", axis))
    )

"""Text to written shapes: `(B, T, 2 * D)` and `[num_tokens, heads, dim]`, to notes of tensors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.static.variability.notes.axis_meanings import has_meaning
from triton_doctor.static.variability.values.dims import OPEN, ShapeNote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# An axis on which two notes disagree.
UNCLEAR = ""

_MOST_AXES = 8
_SPLIT = re.compile(r"[\s_]+")
_AXIS = re.compile(r"[\w.\s+\-*/×()]+")  # noqa: RUF001
_NAMED = re.compile(r"[A-Za-z]")
# Names that look like those of axes: `B`, `NH`, `T_q`, `DHQK`.
_LETTERS = re.compile(r"[A-Z][A-Z0-9]{0,4}(?:_\w{1,4})?|[a-z]\d?")
_ALTERNATIVE = re.compile(r"\bor\b|\bif\b|\belse\b|\bwhen\b|[/|]|->|→|\bto\b", re.IGNORECASE)
_JAXTYPING = re.compile(r"\b\w+\[\s*[\w.]*(?:Tensor|Array|ndarray)\s*,\s*[\"']([^\"']*)[\"']")
_BEFORE_AXES = tuple(re.compile(rf"{name}\s*,\s*[\"']") for name in ("Tensor", "Array", "ndarray"))
_TORCHTYPING = re.compile(r"\b(?:[\w.]*\.)?(?:TensorType|Tensor)\[([^\[\]]*)\]")
_BRACKET = re.compile(r"[()\[\]]")
_BRACKET_OR_COMMA = re.compile(r"[()\[\],]")
# Words for tensors that live as long as the model. "Weights" may be those of a softmax, or of the experts of a token.
_OF_WEIGHT = re.compile(
    r"\b(?:(?:codebooks?|centroids?)(?! *(?:ind|id))|learn(?:ed|able)|(?:weight|projection|rotation) matri(?:x|ces)"
    r"|(?:lookup|embedding) tables?)\b",
    re.IGNORECASE,
)
_BEFORE_SHAPE = re.compile(r"(?:shape|size|dims?|layout)\s*[:=]?\s*(?:is|are|of)?\s*[`'\"]*\Z", re.IGNORECASE)


def read_note(text: str, kind: str, line: int) -> ShapeNote | None:
    """Return the first shape in `text`; if alternatives follow, what they have in common."""
    groups = list(_shapes(text)) if "(" in text or "[" in text else []
    if not groups:
        return None
    start, end, axes = groups[0]
    quote = text[start:end].strip()
    for later, until, other in groups[1:]:
        between = text[end:later].strip()
        if between == "=":
            axes = tuple(map(_plainer, axes, other)) if len(axes) == len(other) else axes
        elif _ALTERNATIVE.search(text[end:]):
            if len(axes) != len(other):
                return None
            axes = tuple(axis if axis == second else UNCLEAR for axis, second in zip(axes, other, strict=True))
        end = until
    if not any(axes):
        return None
    return ShapeNote(axes, quote, kind, line, is_weight=_OF_WEIGHT.search(text) is not None)


def _plainer(axis: str, other: str) -> str:
    return axis if axis.isidentifier() or not other.isidentifier() else other


def read_annotation(annotation: str, line: int) -> ShapeNote | None:
    """Return the note in `Float[Tensor, "batch seq dim"]`, `TensorType["batch", "seq"]` or `Tensor[B, T, D]`."""
    if "[" not in annotation:
        return None
    found = _JAXTYPING.search(annotation)
    if found is not None:
        axes = [re.sub(r"^[#_?]|=.*", "", axis) for axis in found[1].split()]
        axes = [OPEN if axis.startswith(("*", "...")) else axis for axis in axes]
        return note_of_axes(axes, f'"{found[1]}"', "annotation", line)
    found = _TORCHTYPING.search(annotation)
    if found is not None:
        items = [item.strip().strip("\"'") for item in found[1].split(",")]
        items = [OPEN if item in ("...", "") else item for item in items]
        return note_of_axes(items, f"[{found[1].strip()}]", "annotation", line)
    return None


def may_annotate(text: str) -> bool:
    """Return whether `text` may contain an annotation that names axes."""
    return "Tensor[" in text or "TensorType[" in text or any(pattern.search(text) for pattern in _BEFORE_AXES)


def note_of_axes(axes: Sequence[str], quote: str, kind: str, line: int) -> ShapeNote | None:
    """Return the note with these `axes`; None if they cannot be a shape."""
    if not 1 <= len(axes) <= _MOST_AXES or axes.count(OPEN) > 1 or not any(map(_NAMED.search, axes)):
        return None
    return ShapeNote(tuple(axes), quote, kind, line)


def _shapes(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield the brackets in `text` that name axes, with start and end; the outer one if nested."""
    taken = 0
    for start, end in brackets(text):
        if start >= taken:
            is_shape = text[start] == "[" or _BEFORE_SHAPE.search(text[:start]) is not None
            axes = _axes(text[start + 1 : end - 1], is_shape=is_shape)
            if axes is not None:
                taken = end
                yield start, end, axes


def first_bracket(text: str) -> str:
    """Return `text` up to the end of the bracket with which it begins."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if not depth:
            return text[: at + 1]
    return ""


def brackets(text: str) -> list[tuple[int, int]]:
    """Return where each bracket of `text` opens and where the text after it begins, in order."""
    opened: list[int] = []
    found: list[tuple[int, int]] = []
    for bracket in _BRACKET.finditer(text):
        if bracket[0] in "([":
            opened.append(bracket.start())
        elif opened:
            found.append((opened.pop(), bracket.end()))
    return sorted(found)


def _axes(inside: str, *, is_shape: bool) -> tuple[str, ...] | None:
    """Return the names between the commas of `inside`; None if these are no axes. A single one only if `is_shape`."""
    items = [item.strip().strip("`'\"") for item in _split(inside)]
    has_comma = len(items) > 1
    if items and not items[-1]:
        items.pop()
    if not 1 <= len(items) <= _MOST_AXES or not (has_comma or is_shape):
        return None
    axes = tuple(map(_axis, items))
    if None in axes or axes.count(OPEN) > 1 or not any(_NAMED.search(axis or "") for axis in axes):
        return None
    known = sum(_looks_like_axis(axis) for axis in axes if axis is not None)
    return tuple(axis for axis in axes if axis is not None) if known * 2 >= len(axes) else None


def _split(inside: str) -> Iterator[str]:
    depth = start = 0
    for mark in _BRACKET_OR_COMMA.finditer(inside):
        if mark[0] != ",":
            depth += 1 if mark[0] in "([" else -1
        elif not depth:
            yield inside[start : mark.start()]
            start = mark.end()
    yield inside[start:]


def _axis(item: str) -> str | None:
    """Return an item of a shape as written, words joined: `batch_size` for `batch size`; None if it is no axis."""
    if item in ("...", "…", "*"):
        return OPEN
    # No axis has length 0: `[0, T - 1]` is a range.
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

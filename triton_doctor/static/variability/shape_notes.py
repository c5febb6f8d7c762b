"""What a function's author wrote of its tensors' shapes: comments, docstring, annotations, asserts and einops patterns.

In: the remarks of a function. Out: for a parameter, or for the tensor that a line assigns, a `ShapeNote`:

    def run(
        q,  # (B, H, T, D)
    ):

gives for `q` the axes "B", "H", "T", "D", and that its comment says "(B, H, T, D)". What an axis' name means is told by
`axis_meanings`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.ir import Name
from triton_doctor.static.python.remarks import read_remarks
from triton_doctor.static.sources.source_text import TextPattern
from triton_doctor.static.variability.axis_meanings import OPEN, AxisMeanings
from triton_doctor.static.variability.axis_names import keeps_shape, named_axes
from triton_doctor.static.variability.hints import Toward
from triton_doctor.static.variability.written_shapes import MOST_AXES, brackets, written_shapes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.remarks import Remark, Remarks

# The kind of a note that is none: what the function itself unpacks the shape into.
UNPACKING = "unpacking"
_FEWEST_UNPACKED = 3
# What a text has that may have a comment with a shape.
SHAPE_COMMENT = TextPattern("#", after=re.compile(rb"[^\n]*[(\[]"))
# Axes of which two notes speak differently.
UNCLEAR = ""

_NAMED = re.compile(r"[A-Za-z]")
_ALTERNATIVE = re.compile(r"\bor\b|\bif\b|\belse\b|\bwhen\b|/|->|→|\bto\b", re.IGNORECASE)
# `q: [B, T]`, `q is (B, T)` and `q (B, T)` on a line of its own.
_SAID_OF = re.compile(
    r"(?<![\w.])(\w+)[`*]*(?:\.shape)?(?:\s*(?::|==?|is|has shape|of shape|shape)\s*|\s+)[`*]*(?=[(\[])"
)
_ENTRY = re.compile(
    r"^([ \t]*)(?:[-*+][ \t]+)?(?::param[ \t]+(?:[\w.\[\]]+[ \t]+)??)?[`*]{0,2}(\w+)[`*]{0,2}(?=[ \t]*[:(\[,-])"
)
_JAXTYPING = re.compile(r"\b\w+\[\s*[\w.]*(?:Tensor|Array|ndarray)\s*,\s*[\"']([^\"']*)[\"']")
_TORCHTYPING = re.compile(r"\b(?:[\w.]*\.)?(?:TensorType|Tensor)\[([^\[\]]*)\]")
_ASSERTED = re.compile(
    r"(?:\bassert\s+|\b_check\(\s*)(?:tuple\(|list\()?([A-Za-z_]\w*)\.(?:shape|size\(\))\)?\s*==\s*(?:torch\.Size\()?(?=[(\[])"
)
_STRIDE_OF_ONE = re.compile(r"\b([A-Za-z_]\w*)\.stride\(\s*(-?\d)\s*\)\s*==\s*1\b")
_EINOPS = re.compile(r"\b(?:rearrange|reduce|repeat)\(\s*([A-Za-z_]\w*)\s*,\s*[rf]?[\"']([^\"']*?)->")
_EINOPS_AXIS = re.compile(r"\.\.\.|\([^)]*\)|[\w*]+")


class ShapeNote(NamedTuple):
    """The axes of a tensor as its author names them, `...` for any number of them, "" where that is not clear.

    `quote` is the note as it is written, `kind` where it stands: comment, docstring, annotation, assert or pattern.
    `meanings` say of each axis whether it follows the data, or the model. It `is_row_major` unless the function asks
    whether another axis than the last has a stride of 1.
    """

    axes: tuple[str, ...]
    quote: str
    kind: str
    line: int
    meanings: tuple[bool | None, ...] = ()
    is_row_major: bool = True

    @property
    def rank(self) -> int | None:
        """The number of axes, where the note tells."""
        return None if OPEN in self.axes else len(self.axes)

    @property
    def is_written(self) -> bool:
        """Whether the author wrote it for readers, and not the function in unpacking the shape."""
        return self.kind != UNPACKING

    @property
    def says(self) -> str:
        """The note, as a part of a sentence: `its comment says (B, T, D)`."""
        return f"its {self.kind} says {self.quote}"

    def at(self, position: int) -> int | None:
        """Return the index in `axes` of the axis at `position`, from the end where negative; None if it has none."""
        count = len(self.axes)
        if OPEN not in self.axes:
            return position % count if -count <= position < count else None
        start = self.axes.index(OPEN)
        if 0 <= position < start:
            return position
        return count + position if -(count - start) < position < 0 else None

    def toward(self, position: int) -> Toward | None:
        """Return what the axis at `position` follows, as far as the note says."""
        at = self.at(position)
        meaning = self.meanings[at] if at is not None else None
        return None if meaning is None else Toward.DATA if meaning else Toward.MODEL


class ShapeNotes(NamedTuple):
    """The notes of a function: of its parameters, and of what lines assign.

    `sizes` are the names of axes in those of parameters, and what the function calls by another name, with the note and
    the position there.
    """

    parameters: dict[str, ShapeNote]
    assigned: Mapping[int, ShapeNote]
    sizes: Mapping[str, tuple[ShapeNote, int]]


@cached_in_scan()
def notes_of(function: Function) -> ShapeNotes:
    """Return the notes in the text of `function` that say something of an axis.

    Of several notes for one parameter the nearest counts: its annotation, its comment, the docstring, an assert.
    """
    text = function.text.text
    remarks = read_remarks(text, function.line)
    found = _read(remarks, text, function.line, _lines_that_rebind(function))
    if not (found.parameters or found.assigned):
        return found
    for tensor, position in _STRIDE_OF_ONE.findall(text) if ".stride(" in text else ():
        note = found.parameters.get(tensor)
        if note is not None and note.at(int(position)) != len(note.axes) - 1:
            found.parameters[tensor] = note._replace(is_row_major=False)
    meanings = _meanings(function, {name: note.axes for name, note in found.parameters.items()})
    parameters = {name: one for name, note in found.parameters.items() if (one := _with_meanings(note, meanings))}
    return ShapeNotes(
        parameters,
        {line: one for line, note in found.assigned.items() if (one := _with_meanings(note, meanings))},
        _sizes(function, parameters.values()),
    )


def _sizes(function: Function, notes: Iterable[ShapeNote]) -> dict[str, tuple[ShapeNote, int]]:
    sizes: dict[str, tuple[ShapeNote, int]] = {}
    for note in notes:
        for at, axis in enumerate(note.axes):
            if axis.isidentifier():
                bound = function.bindings.get(axis, ())
                other = bound[0].value if len(bound) == 1 else None
                sizes.setdefault(other.id if isinstance(other, Name) else axis, (note, at))
    return sizes


def note_of_parameter(function: Function, name: str) -> ShapeNote | None:
    """Return the note for the parameter `name`, or else what it is unpacked into, where that is three axes or more."""
    names = named_axes(function, name)
    note = notes_of(function).parameters.get(name)
    if note is not None:
        return note if not names or note.rank in (None, len(names)) else None
    if len(names) < _FEWEST_UNPACKED or not all(names):
        return None
    unpacked = ShapeNote(names, f"({', '.join(names)})", UNPACKING, function.line)
    return _with_meanings(unpacked, _meanings(function, {}))


def _meanings(function: Function, axes: Mapping[str, Sequence[str]]) -> AxisMeanings:
    docstring = read_remarks(function.text.text, function.line).docstring
    return AxisMeanings(function, axes, docstring, function.text.file_docstring)


def _with_meanings(note: ShapeNote, meanings: AxisMeanings) -> ShapeNote | None:
    known = meanings.of_shape(note.axes)
    return note._replace(meanings=known) if any(one is not None for one in known) else None


def _lines_that_rebind(function: Function) -> Mapping[str, int]:
    """The line on which a name first becomes something of another shape, by the name."""
    lines = {
        name: [one.line for one in bindings if not keeps_shape(one.value, name)]
        for name, bindings in function.bindings.items()
    }
    return {name: min(found) for name, found in lines.items() if found}


def _read(remarks: Remarks, text: str, start: int, bound: Mapping[str, int]) -> ShapeNotes:
    """Read all notes of a function whose `text` begins on line `start`."""
    found: dict[str, ShapeNote] = {}
    for name, remark in remarks.parameters.items():
        note = _in_annotation(remark.annotation, remark.line) or _in_text(remark.comment, "comment", remark.line)
        if note is not None:
            found[name] = note
    for name, note in _in_docstring(remarks, remarks.parameters):
        found.setdefault(name, note)
    for standing in remarks.standing:
        for name, note in _said_of(standing, remarks.parameters):
            if standing.line <= bound.get(name, standing.line):
                found.setdefault(name, note)
    for name, note in _in_code(text, start, remarks.parameters):
        if note.line <= bound.get(name, note.line):
            found.setdefault(name, note)
    assigned = {line: note for line, said in remarks.trailing.items() if (note := _in_text(said, "comment", line))}
    return ShapeNotes(found, assigned, {})


def _in_text(text: str, kind: str, line: int) -> ShapeNote | None:
    """The shape that `text` names first; where it goes on with another one, what both say."""
    groups = list(written_shapes(text))
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
            axes = tuple(one if one == second else UNCLEAR for one, second in zip(axes, other, strict=True))
        end = until
    return ShapeNote(axes, quote, kind, line) if any(axes) else None


def _plainer(one: str, other: str) -> str:
    return one if one.isidentifier() or not other.isidentifier() else other


def _said_of(remark: Remark, names: Collection[str]) -> Iterator[tuple[str, ShapeNote]]:
    """What a comment says of each of `names`: `q: [B, T], k: [B, S]`."""
    for found in _SAID_OF.finditer(remark.text):
        if found[1] in names:
            note = _in_text(_first_bracket(remark.text[found.end() :]), "comment", remark.line)
            if note is not None:
                yield found[1], note


def _first_bracket(text: str) -> str:
    """`text` up to the end of the bracket with which it begins."""
    end = next((end for start, end in brackets(text) if start == 0), 0)
    return text[:end]


def _in_docstring(remarks: Remarks, names: Collection[str]) -> Iterator[tuple[str, ShapeNote]]:
    """What the entries of the docstring say of `names`, in the form of Google, NumPy or reST, or in a list."""
    if "(" not in remarks.docstring and "[" not in remarks.docstring:
        return
    name, indent, begins = "", 0, 0
    said: list[str] = []
    for number, line in enumerate([*remarks.docstring.split("\n"), " "], start=remarks.docstring_line):
        found = _ENTRY.match(line)
        own = len(line) - len(line.lstrip())
        is_entry = found is not None and found[2] in names
        if name and (is_entry or (line.strip() and own <= indent) or line == " "):
            note = _in_text(" ".join(said), "docstring", begins)
            if note is not None:
                yield name, note
            name = ""
        if is_entry and found is not None:
            name, indent, begins = found[2], own, number
            said = [line[found.end() :].strip()]
        elif name:
            said.append(line.strip())


def _in_annotation(annotation: str, line: int) -> ShapeNote | None:
    """`Float[Tensor, "batch seq dim"]`, `TensorType["batch", "seq"]` and `Tensor[B, T, D]`."""
    found = _JAXTYPING.search(annotation)
    if found is not None:
        axes = [re.sub(r"^[#_?]|=.*", "", axis) for axis in found[1].split()]
        axes = [OPEN if axis.startswith(("*", "...")) else axis for axis in axes]
        return _of_axes(axes, f'"{found[1]}"', "annotation", line)
    found = _TORCHTYPING.search(annotation)
    if found is not None:
        items = [item.strip().strip("\"'") for item in found[1].split(",")]
        items = [OPEN if item in ("...", "") else item for item in items]
        return _of_axes(items, f"[{found[1].strip()}]", "annotation", line)
    return None


def _of_axes(axes: Sequence[str], quote: str, kind: str, line: int) -> ShapeNote | None:
    if not 1 <= len(axes) <= MOST_AXES or axes.count(OPEN) > 1 or not any(map(_NAMED.search, axes)):
        return None
    return ShapeNote(tuple(axes), quote, kind, line)


def _in_code(text: str, start: int, names: Collection[str]) -> Iterator[tuple[str, ShapeNote]]:
    """What asserts, `torch._check` and einops patterns say of `names`."""
    if ".shape" in text or ".size" in text:
        for found in _ASSERTED.finditer(text) if "==" in text else ():
            line = start + text.count("\n", 0, found.start())
            note = _in_text(f"shape {_first_bracket(text[found.end() :])}", "assert", line)
            if note is not None and found[1] in names:
                yield found[1], note
    for found in _EINOPS.finditer(text) if "->" in text else ():
        axes = [OPEN if axis == OPEN else "*".join(axis.strip("()").split()) for axis in _EINOPS_AXIS.findall(found[2])]
        note = _of_axes(axes, f'"{found[2].strip()}"', "pattern", start + text.count("\n", 0, found.start()))
        if note is not None and found[1] in names:
            yield found[1], note

"""Shapes that authors write: beside parameters, in docstrings, comments and asserts; and the values that they add to.

In: the remarks of a function. Out: for a parameter, or for the tensor that a line assigns, a `ShapeNote`:

    def run(
        q,  # (B, H, T, D)
    ):

gives for `q` the axes "B", "H", "T", "D", and the quote "(B, H, T, D)". `axis_meanings` tells what the names mean.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.ir import Name
from triton_doctor.static.python.reaching_definitions import are_exclusive
from triton_doctor.static.python.remarks import COMMENT, read_remarks
from triton_doctor.static.sources.source_text import TextPattern
from triton_doctor.static.variability.hints.name_words import names_weight
from triton_doctor.static.variability.notes.axis_meanings import AxisMeanings, are_axes_of_sequences
from triton_doctor.static.variability.notes.axis_names import keeps_shape, leading_axes, named_axes
from triton_doctor.static.variability.notes.written_shapes import (
    UNCLEAR,
    first_bracket,
    may_annotate,
    note_of_axes,
    read_annotation,
    read_note,
)
from triton_doctor.static.variability.values.dims import OPEN, UNPACKING, Origin, ShapeNote
from triton_doctor.static.variability.values.lattice import UNKNOWN, AbstractNumber, Variability
from triton_doctor.static.variability.values.tensors import axis_of_root
from triton_doctor.static.variability.values.values import SymbolicValue, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import (
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from triton_doctor.static.python.function import (
        BranchArm,
        Function,
        Returned,
    )
    from triton_doctor.static.python.remarks import Remark, Remarks
    from triton_doctor.static.variability.values.values import CallFrame

_FEWEST_UNPACKED = 3
# Part of every text with a shape in a comment.
_SHAPE_COMMENT = TextPattern("#", after=re.compile(rb"[^\n]*[(\[]"))
# A statement about a tensor in a comment: `q: [B, T]`, `q is (B, T)`, or `q (B, T)` on a line of its own.
_SAID_OF = re.compile(
    r"(?<![\w.])(\w+)[`*]*(?:\.shape)?(?:\s*(?::|==?|is|has shape|of shape|shape)\s*|\s+)[`*]*(?=[(\[])"
)
_ENTRY = re.compile(
    r"^([ \t]*)(?:[-*+][ \t]+)?(?::param[ \t]+(?:[\w.\[\]]+[ \t]+)??)?[`*]{0,2}(\w+)[`*]{0,2}(?=[ \t]*[:(\[,-])"
)
# The section about the result: `Returns:`, `Returns` with a line below it, `:return:` and `:returns:`, up to an empty
# line.
_RESULT_SECTION = TextPattern("eturn", re.compile(rb"(?<=[ \t:\n][Rr])"), re.compile(rb"s?[ \t]*(?::|\n[ \t]*--)"))
_RESULT = re.compile(r"^[ \t]*:?[Rr]eturns?[ \t]*(?::[ \t]*\n?|\n[ \t]*-+[ \t]*\n)((?:.+\n?)*)", re.MULTILINE)
# A further entry of that section, `lse: (B, H)` or `- the weights`: there are several results.
_NEXT_RESULT = re.compile(r"[ \t]*(?:[-*+][ \t]|[`*]*\w+[`*]*[ \t]*(?:\([^)]*\))?[ \t]*:)")
# A test of the number of axes that does not raise: then a shape is that of one case.
_OF_SEVERAL_RANKS = re.compile(
    r"^(?![ \t]*assert\b).*?\b([A-Za-z_]\w*)\.(?:dim\(\)|ndim)[ \t]*(?:==|<|>|in\b)", re.MULTILINE
)
_STRIDE_OF_ONE = re.compile(r"\b([A-Za-z_]\w*)\.stride\(\s*(-?\d)\s*\)\s*==\s*1\b")


class ShapeNotes(NamedTuple):
    """The notes of a function: on parameters, on what lines assign or return, and on the result in the docstring.

    `sizes` maps each axis name in the notes of parameters, and each other name of the function for it, to note and
    position.
    """

    parameters: dict[str, ShapeNote]
    assigned: Mapping[int, ShapeNote]
    sizes: Mapping[str, tuple[ShapeNote, int]]
    result: ShapeNote | None = None


@cached_in_scan()
def notes_of(function: Function) -> ShapeNotes:
    """Return the notes in the text of `function` that tell something about an axis.

    The nearest note for a parameter counts: its annotation, its comment, the docstring, an assert.
    """
    text = function.text.text
    if not _may_have_notes(text):
        return ShapeNotes({}, {}, {})
    found = _read(function, _remarks_of(function), _lines_that_rebind(function))
    if not (found.parameters or found.assigned or found.result):
        return found
    for tensor in _OF_SEVERAL_RANKS.findall(text) if ".dim()" in text or ".ndim" in text else ():
        found.parameters.pop(tensor, None)
    for tensor, position in _STRIDE_OF_ONE.findall(text) if ".stride(" in text else ():
        note = found.parameters.get(tensor)
        if note is not None and note.at(int(position)) != len(note.axes) - 1:
            found.parameters[tensor] = note._replace(is_row_major=False)
    meanings = _meanings(function, {name: note.axes for name, note in found.parameters.items()})
    parameters = {name: whole for name, note in found.parameters.items() if (whole := with_meanings(note, meanings))}
    return ShapeNotes(
        parameters,
        {line: whole for line, note in found.assigned.items() if (whole := with_meanings(note, meanings))},
        _sizes(function, parameters.values()),
        with_meanings(found.result, meanings) if found.result is not None else None,
    )


@cached_in_scan()
def may_note_assigned(function: Function) -> bool:
    """Return whether a comment may contain the shape of something that `function` assigns."""
    return function.matches(_SHAPE_COMMENT)


@cached_in_scan()
def may_note_result(function: Function) -> bool:
    """Return whether a comment or the docstring may contain the shape of the result."""
    return may_note_assigned(function) or function.matches(_RESULT_SECTION)


def _may_have_notes(text: str) -> bool:
    """Return whether `text` has a comment with a bracket, a docstring, or another place for a note."""
    return (
        (COMMENT.search(text) is not None)
        or ('"""' in text or "'''" in text)
        or may_annotate(text)
        or may_assert(text)
        or may_rearrange(text)
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


@cached_in_scan()
def note_of_parameter(function: Function, name: str) -> ShapeNote | None:
    """Return the note for the parameter `name`, or else its unpacking into three names or more."""
    names = named_axes(function, name)
    note = notes_of(function).parameters.get(name)
    if note is not None:
        return note if not names or note.rank in (None, len(names)) else None
    if not names and (leading := leading_axes(function, name)):
        names = (*leading, OPEN)
    return note_of_unpacking(function, names)


@cached_in_scan()
def note_of_unpacking(function: Function, names: tuple[str, ...]) -> ShapeNote | None:
    """Return the note that an unpacking into `names` makes: three or more, or a batch and a length."""
    if not all(names) or not (len(names) >= _FEWEST_UNPACKED or are_axes_of_sequences(names)):
        return None
    unpacked = ShapeNote(names, f"({', '.join(names)})", UNPACKING, function.line)
    return with_meanings(unpacked, _meanings(function, {}))


def _meanings(function: Function, axes: Mapping[str, Sequence[str]]) -> AxisMeanings:
    return AxisMeanings(function, axes, _remarks_of(function).docstring, function.text.file_docstring)


@cached_in_scan()
def _remarks_of(function: Function) -> Remarks:
    return read_remarks(function.text.text, function.line)


def with_meanings(note: ShapeNote, meanings: AxisMeanings) -> ShapeNote | None:
    """Return `note` with the meanings of its axes; None if no meaning is known."""
    known = meanings.of_shape(note.axes)
    return note._replace(meanings=known) if any(meaning is not None for meaning in known) else None


def _lines_that_rebind(function: Function) -> Mapping[str, int]:
    """Return the line on which each name first becomes something of another shape."""
    lines = {
        name: [binding.line for binding in bindings if not keeps_shape(binding.value, name)]
        for name, bindings in function.bindings.items()
    }
    return {name: min(found) for name, found in lines.items() if found}


def _read(function: Function, remarks: Remarks, bound: Mapping[str, int]) -> ShapeNotes:
    """Read all notes of a function that rebinds names to other shapes on the lines `bound`."""
    found = notes_in_header(remarks)
    for standing in remarks.standing:
        for name, note in _notes_in(standing, remarks.parameters):
            if standing.line <= bound.get(name, standing.line):
                found.setdefault(name, note)
    for name, note in notes_in_code(function, remarks.parameters, bound):
        found.setdefault(name, note)
    assigned = {line: shape for line, text in remarks.trailing.items() if (shape := read_note(text, "comment", line))}
    return ShapeNotes(found, assigned, {}, _result(remarks))


def notes_in_header(remarks: Remarks) -> dict[str, ShapeNote]:
    """Return the notes on parameters in annotations, header comments and the docstring."""
    found: dict[str, ShapeNote] = {}
    for name, remark in remarks.parameters.items():
        note = read_annotation(remark.annotation, remark.line) or read_note(remark.comment, "comment", remark.line)
        if note is not None:
            found[name] = note
    for name, note in _in_docstring(remarks, remarks.parameters):
        found.setdefault(name, note)
    return found


def _notes_in(remark: Remark, names: Collection[str]) -> Iterator[tuple[str, ShapeNote]]:
    """Yield the notes of a comment on each of `names`: `q: [B, T], k: [B, S]`."""
    for found in _SAID_OF.finditer(remark.text):
        if found[1] in names:
            note = read_note(first_bracket(remark.text[found.end() :]), "comment", remark.line)
            if note is not None:
                yield found[1], note


def _in_docstring(remarks: Remarks, names: Collection[str]) -> Iterator[tuple[str, ShapeNote]]:
    """Yield the notes of docstring entries on `names`, in Google, NumPy or reST form, or in a list."""
    if "(" not in remarks.docstring and "[" not in remarks.docstring:
        return
    name, indent, begins = "", 0, 0
    shape_lines: list[str] = []
    for number, line in enumerate([*remarks.docstring.split("\n"), " "], start=remarks.docstring_line):
        found = _ENTRY.match(line)
        own = len(line) - len(line.lstrip())
        is_entry = found is not None and found[2] in names
        if name and (is_entry or (line.strip() and own <= indent) or line == " "):
            note = read_note(" ".join(shape_lines), "docstring", begins)
            if note is not None:
                yield name, note
            name = ""
        if is_entry and found is not None:
            name, indent, begins = found[2], own, number
            shape_lines = [line[found.end() :].strip()]
        elif name:
            shape_lines.append(line.strip())


def _result(remarks: Remarks) -> ShapeNote | None:
    """Return the docstring's note on the result, if there is one result and its entry has one shape."""
    found = _RESULT.search(remarks.docstring)
    if found is None:
        return None
    line = remarks.docstring_line + remarks.docstring.count("\n", 0, found.start())
    first, *others = found[1].split("\n") or [""]
    indent = len(first) - len(first.lstrip())
    below = list(takewhile(lambda text: text[: indent + 1].isspace(), others))
    if any(map(_NEXT_RESULT.match, others[len(below) :])):
        return None
    notes = [note for text in (first, *below) if (note := read_note(text, "docstring", line)) is not None]
    return notes[0] if len(notes) == 1 else None


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
        binding.line >= line or are_exclusive(binding.arms, own) or keeps_shape(binding.value, name)
        for binding in function.bindings.get(name, ())
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
        axes = (axis if axis == second else UNCLEAR for axis, second in zip(first.axes, other.axes, strict=True))
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


def note_returned(value: Value, returned: Returned, frame: CallFrame) -> Value:
    """Return `value` with the shape in the comment after its `return`, or else in the docstring."""
    function = frame.function
    if not may_note_result(function) or not _takes_note(value):
        return value
    if isinstance(value, SymbolicValue) and value.root.note is not None:
        return value
    notes = notes_of(function)
    name = returned.value.id if isinstance(returned.value, Name) else function.name
    return _with_note(value, notes.assigned.get(returned.line, notes.result), name, frame)


def _with_note(value: Value, note: ShapeNote | None, name: str, frame: CallFrame) -> Value:
    if note is None or note.rank is None:
        return value
    path, function = frame.module.path, frame.function.qualname
    root = Origin(path, function, name, note.line, note.rank, names_weight(name), read_note=lambda: note)
    match value:
        case SymbolicValue(_, number, None):
            return value if number.kind is not Variability.UNKNOWN else SymbolicValue(root=root, number=number)
        case Tensor(front, (), None) if len(front) == note.rank:
            axes = (axis if _is_known(axis) else axis_of_root(root, at) for at, axis in enumerate(front))
            return value._replace(front=tuple(axes))
        case Tensor((), (), open_) if open_ is not None and not _is_known(open_):
            return SymbolicValue(root=root, number=UNKNOWN)
        case AbstractNumber() if not _is_known(value):
            return SymbolicValue(root=root, number=value)
        case _:
            return value


def _takes_note(value: Value) -> bool:
    """Return whether a note may add to what is known of `value`."""
    match value:
        case SymbolicValue(_, _, origin):
            return origin is None or value.held is not None
        case Tensor(front, _, open_):
            return not all(map(_is_known, front)) or (open_ is not None and not _is_known(open_))
        case AbstractNumber():
            return not _is_known(value)
        case _:
            return False


def _is_known(number: AbstractNumber) -> bool:
    """Return whether a value is decided or has hints."""
    return number.kind is not Variability.UNKNOWN or bool(number.hints) or number.literal is not ...

"""Adds written shapes to the values of assignments and returns, where nothing else tells the shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Name
from triton_doctor.static.variability.hints.name_words import names_weight
from triton_doctor.static.variability.notes.shape_notes import may_note_result, notes_of
from triton_doctor.static.variability.values.dims import Origin
from triton_doctor.static.variability.values.lattice import UNKNOWN, AbstractNumber, Variability
from triton_doctor.static.variability.values.tensors import axis_of_root
from triton_doctor.static.variability.values.values import SymbolicValue, Tensor, Value

if TYPE_CHECKING:
    from triton_doctor.static.python.function import Binding, Returned
    from triton_doctor.static.variability.notes.written_shapes import ShapeNote
    from triton_doctor.static.variability.values.program_point import CallFrame


def note_assigned(value: Value, binding: Binding, frame: CallFrame) -> Value:
    """Return `value` with the shape in the comment after its assignment."""
    if not _takes_note(value):
        return value
    return _with_note(value, notes_of(frame.function).assigned.get(binding.line), binding.name, frame)


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

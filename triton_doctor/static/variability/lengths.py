"""`len(...)` of what is known, and of what is not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.sources.source_text import TextPattern
from triton_doctor.static.variability import tensors
from triton_doctor.static.variability.axis_context import AxisContext
from triton_doctor.static.variability.hints import apply_hints
from triton_doctor.static.variability.lattice import FEW, FIXED, UNKNOWN, AbstractNumber, Variability, choice
from triton_doctor.static.variability.name_words import names_list_of_model, names_shape
from triton_doctor.static.variability.trace import Note
from triton_doctor.static.variability.values import (
    DictValue,
    ListValue,
    Shape,
    Strides,
    SymbolicValue,
    Tensor,
    TupleValue,
    Union,
)

if TYPE_CHECKING:
    from triton_doctor.static.variability.interpreter import Interpreter
    from triton_doctor.static.variability.program_point import CallFrame
    from triton_doctor.static.variability.values import Value

# `x.shape` and what else only a tensor has.
_BEFORE = re.compile(rb"(?<![A-Za-z0-9_.])")
_AFTER = re.compile(rb"\.(?:shape|stride|size|device|dtype|ndim|numel|is_cuda|is_contiguous|contiguous|data_ptr)\b")


def length(interpreter: Interpreter, value: Value, frame: CallFrame) -> AbstractNumber:
    """How often the length of a sequence, a table or a tensor changes."""
    match value:
        case SymbolicValue() if not is_used_as_tensor(value):
            return interpreter.asked.length(value, frame) or length_of_thing(value)
        case SymbolicValue() | Tensor():
            return interpreter.axis(value, 0, frame)
        case Union(options):
            lengths = [length(interpreter, option, frame) for option in options]
            is_known = lengths[0].literal is not ... and len({one.literal for one in lengths}) == 1
            return lengths[0] if is_known else choice(lengths)
        case TupleValue(open=False):
            return _literal(value.count)
        case DictValue(items, False):
            return _literal(len(items))
        case ListValue(_, own):
            return own
        case Shape(of) | Strides(of):
            return tensors.number_of_axes(of)
        case _:
            return UNKNOWN


def length_of_thing(thing: SymbolicValue) -> AbstractNumber:
    """The length of a list, string or tensor out of sight leans to follow the data; that of a kept thing is kept."""
    root = thing.root
    trail = (Note(root.path, root.line, f"the length of `{root.name}`"),)
    if thing.number.kind is not Variability.UNKNOWN:
        return thing.number._replace(trail=trail)
    if names_shape(root.name):
        return FEW
    if names_list_of_model(root.name):
        return AbstractNumber(kind=Variability.PER_MODEL, trail=trail)
    hints = apply_hints(AxisContext(is_length=True, name=root.name), root.path, root.line)
    return UNKNOWN.add_hints(hints)._replace(from_data=True, trail=trail)


def is_used_as_tensor(thing: SymbolicValue) -> bool:
    """Whether it is an argument that is annotated as a tensor, or that its function asks what only tensors know."""
    name, function = thing.root.name, thing.origin
    if function is None:
        return False
    if any(param.name == name and param.annotation == "Tensor" for param in function.params):
        return True
    return name.isidentifier() and function.shows(_asked_as_tensor(name))


@cached_in_scan()
def _asked_as_tensor(name: str) -> TextPattern:
    return TextPattern(name, _BEFORE, _AFTER)


def unpacked_count(value: Value) -> int | None:
    """The number of items that `*value` unpacks to; None where it is not known."""
    match value:
        case TupleValue(open=False) if value.starred is None:
            return value.count
        case Shape(of) | Strides(of):
            return tensors.rank(of)
        case Union(options):
            counts = {unpacked_count(option) for option in options}
            return counts.pop() if len(counts) == 1 else None
        case _:
            return None


def _literal(count: int) -> AbstractNumber:
    return FIXED._replace(literal=count, low=count, high=count)

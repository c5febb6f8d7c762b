"""`len(...)` of known and unknown values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.sources.source_text import TextPattern
from triton_doctor.static.variability.hints.axis_context import AxisContext
from triton_doctor.static.variability.hints.hints import apply_hints
from triton_doctor.static.variability.hints.name_words import names_list_of_model, names_shape
from triton_doctor.static.variability.values import tensors
from triton_doctor.static.variability.values.lattice import FEW, FIXED, UNKNOWN, AbstractNumber, Variability, choice
from triton_doctor.static.variability.values.trace import Note
from triton_doctor.static.variability.values.values import (
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
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.program_point import CallFrame
    from triton_doctor.static.variability.values.values import Value

# Attributes that only tensors have, such as `x.shape`.
_BEFORE = re.compile(rb"(?<![A-Za-z0-9_.])")
_AFTER = re.compile(rb"\.(?:shape|stride|size|device|dtype|ndim|numel|is_cuda|is_contiguous|contiguous|data_ptr)\b")


def length(interpreter: Interpreter, value: Value, frame: CallFrame) -> AbstractNumber:
    """Return the length of a sequence, table or tensor."""
    match value:
        case SymbolicValue() if not is_used_as_tensor(value):
            return interpreter.caller_arguments.length(value, frame) or length_of_symbol(value)
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


def length_of_symbol(symbol: SymbolicValue) -> AbstractNumber:
    """Return the length of an unknown list, string or tensor: a hint toward the data; PER_MODEL for a stored one."""
    root = symbol.root
    trail = (Note(root.path, root.line, f"the length of `{root.name}`"),)
    if symbol.number.kind is not Variability.UNKNOWN:
        return symbol.number._replace(trail=trail)
    if names_shape(root.name):
        return FEW
    if names_list_of_model(root.name):
        return AbstractNumber(kind=Variability.PER_MODEL, trail=trail)
    hints = apply_hints(AxisContext(is_length=True, name=root.name), root.path, root.line)
    return UNKNOWN.add_hints(hints)._replace(from_data=True, trail=trail)


def is_used_as_tensor(symbol: SymbolicValue) -> bool:
    """Return whether it is an argument annotated as a tensor, or used with attributes that only tensors have."""
    name, function = symbol.root.name, symbol.origin
    if function is None:
        return False
    if any(param.name == name and param.annotation == "Tensor" for param in function.params):
        return True
    return name.isidentifier() and function.matches(_asked_as_tensor(name))


@cached_in_scan()
def _asked_as_tensor(name: str) -> TextPattern:
    return TextPattern(name, _BEFORE, _AFTER)


def unpacked_count(value: Value) -> int | None:
    """Return the number of items of `*value`; None if unknown."""
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

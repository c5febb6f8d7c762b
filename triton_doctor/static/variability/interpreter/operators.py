"""Operators on values: numbers, tensors, and concatenated tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import BinaryOp, Name
from triton_doctor.static.variability.models.host_tensors import with_contents
from triton_doctor.static.variability.models.lengths import is_used_as_tensor
from triton_doctor.static.variability.models.lists import concatenate
from triton_doctor.static.variability.models.slices import step_length
from triton_doctor.static.variability.models.torch_products import multiplied
from triton_doctor.static.variability.models.torch_results import combined
from triton_doctor.static.variability.values import tensors
from triton_doctor.static.variability.values.arithmetic import apply, dividend
from triton_doctor.static.variability.values.lattice import AbstractNumber
from triton_doctor.static.variability.values.values import ListValue, Shape, SymbolicValue, Tensor, TupleValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.program_point import CallFrame, ProgramPoint
    from triton_doctor.static.variability.values.values import Lazy, Value

# `[1] * x.dim()`: tensors have few axes
_MOST_ITEMS = 8
_NO_TENSORS = (None, "int", "float", "bool", "str", "dtype")


def operate(interpreter: Interpreter, op: str, operands: Sequence[Expr], point: ProgramPoint) -> Value:
    """Return the value of `op` on one or two operands, as written at `point`."""
    match op, operands:
        case "//", (over, under):
            over = dividend(over, under)
            is_sum = isinstance(over, BinaryOp) and over.op in ("+", "-") and len(over.operands) > 1
            numbers = [interpreter.number(over, point), interpreter.number(under, point)]
            return apply(op, numbers, is_sum=is_sum)
        case "-", (Name() as stop, Name() as start):
            step = step_length(interpreter, start, stop, point)
            if step is not None:
                return step
        case _:
            pass
    return _operate(interpreter, op, [interpreter.value(operand, point) for operand in operands], point.frame)


def _operate(interpreter: Interpreter, op: str, operands: Sequence[Value], frame: CallFrame) -> Value:
    """Return the value of `op` on one or two values."""
    numbers = [operand for operand in operands if isinstance(operand, AbstractNumber)]
    if len(numbers) == len(operands):
        return apply(op, numbers)
    if any(isinstance(operand, Tensor) or _is_passed_tensor(operand) for operand in operands):
        things = [operand for operand in operands if isinstance(operand, Tensor | SymbolicValue)]
        found = combined(things) if op != "@" else multiplied(*things) if len(things) == 2 else None
        return with_contents(things[0] if found is None else found, op, operands)
    match op, operands:
        case "+", (TupleValue() | Shape() as left, TupleValue() | Shape() as right):
            is_open = any(isinstance(one, TupleValue) and one.open for one in operands)
            return TupleValue([*_items(interpreter, left, frame), *_items(interpreter, right, frame)], is_open=is_open)
        case "+", (TupleValue() | ListValue(), TupleValue() | ListValue()):
            return concatenate(interpreter, operands, frame)
        case "*", (TupleValue(items, False), AbstractNumber(literal=int(times))) if len(items) * times <= _MOST_ITEMS:
            return TupleValue(items * times)
        case _:
            return apply(op, [interpreter.as_number(operand, frame) for operand in operands])


def _is_passed_tensor(value: Value) -> bool:
    """Return whether it is an argument that its function or annotation shows to be a tensor."""
    if not isinstance(value, SymbolicValue) or value.origin is None or value.held is not None:
        return False
    if is_used_as_tensor(value):
        return True
    annotated = (one.annotation for one in value.origin.params if one.name == value.root.name)
    return next(annotated, None) not in _NO_TENSORS and value.root.note is not None


def _items(interpreter: Interpreter, value: TupleValue | Shape, frame: CallFrame) -> Sequence[Value | Lazy]:
    if isinstance(value, TupleValue):
        return value.items
    rank = tensors.rank(value.of)
    return [value] if rank is None else [interpreter.axis(value.of, position, frame) for position in range(rank)]

"""Reductions over all items of a sequence, `math.prod(sizes)` and `sum(lengths)`, and `range(n)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import BinaryOp, Expr, Lambda, Name, final_name
from triton_doctor.static.variability.models.indexing import element
from triton_doctor.static.variability.values import tensors
from triton_doctor.static.variability.values.lattice import HANDFUL, UNKNOWN, AbstractNumber, Variability, join
from triton_doctor.static.variability.values.tensors import whole_number
from triton_doctor.static.variability.values.values import ListValue, Shape, SymbolicValue, TupleValue, Value

if TYPE_CHECKING:
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.program_point import ProgramPoint


def multiplied(interpreter: Interpreter, value: Value, point: ProgramPoint) -> Value:
    """Return the product of all items of `value`."""
    match value:
        case Shape(of):
            return interpreter.numel(of, point.frame)
        case TupleValue(items, False):
            parts = [interpreter.numel(one.of, point.frame) if isinstance(one, Shape) else one for one in items]
            return tensors.product([interpreter.as_number(one, point.frame) for one in parts])
        case ListValue(one, length):
            return join([interpreter.as_number(one, point.frame), length])._replace(size=None, literal=...)
        case _:
            return UNKNOWN


def multiplies(function: Expr) -> bool:
    """Return whether it is `operator.mul` or `lambda a, b: a * b`."""
    match function:
        case Lambda((one, other), BinaryOp("*", (Name(left), Name(right)))):
            return {one, other} == {left, right}
        case _:
            return final_name(function) == "mul"


def summed(interpreter: Interpreter, value: Value, point: ProgramPoint) -> Value:
    """Return the sum of all items of `value`."""
    match value:
        case TupleValue(items, _):
            return join([interpreter.as_number(one, point.frame) for one in items])
        case ListValue(one, length):
            return join([interpreter.as_number(one, point.frame), length])
        case SymbolicValue():
            one = interpreter.as_number(element(interpreter, value, point.frame), point.frame)
            return UNKNOWN.with_integrality(is_integer=one.is_integer)
        case _:
            return UNKNOWN


def number_range(bounds: list[AbstractNumber]) -> ListValue:
    """Return `range(...)`: as many items as its bounds say, which change as often as these."""
    joined = join(bounds)
    if len(bounds) == 3 and bounds[2].literal is ...:
        # A range in steps of a launch's maximum rarely has more than one item.
        return ListValue(item=UNKNOWN._replace(is_integer=True, trail=joined.trail), length=joined)
    if joined.kind is Variability.FIXED:
        first, last = (0, bounds[0].literal) if len(bounds) == 1 else (bounds[0].literal, bounds[1].literal)
        step = bounds[2].literal if len(bounds) == 3 else 1
        if isinstance(first, int) and isinstance(last, int):
            kind = Variability.FEW if last - first <= HANDFUL else Variability.PER_CALL
            item = AbstractNumber(kind=kind, low=first, high=max(last - 1, first), is_integer=True)
            length = whole_number(max(-((first - last) // step), 0)) if isinstance(step, int) and step else joined
            return ListValue(item=item, length=length)
    item = joined._replace(literal=..., size=None, low=None, high=None, is_integer=True, literals=())
    return ListValue(item=item, length=joined)

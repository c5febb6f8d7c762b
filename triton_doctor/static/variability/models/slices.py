"""The length of a slice of an axis, `x[lower:upper]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import BinaryOp, Call, Const, Name, TupleExpr, Unpacked, dotted
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.variability.values.lattice import AbstractNumber, Variability, join
from triton_doctor.static.variability.values.tensors import whole_number

if TYPE_CHECKING:
    from triton_doctor.static.python.ir import Expr, Slice
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.program_point import ProgramPoint

# Steps to follow to the sum: `end = min(begin + step, n)` is one name and one call away.
_MOST_STEPS = 3


def slice_length(interpreter: Interpreter, whole: AbstractNumber, key: Slice, point: ProgramPoint) -> AbstractNumber:
    """Return the length of `x[lower:upper]`, for an axis of the length `whole`.

    `x[i : i + step]` has the length `step`, except for the last slice. Bounds from the data make it follow the data;
    with unknown bounds, the hints of the axis remain.
    """
    lower, upper, step = (_bound(interpreter, one, point) for one in key)
    numbers = [one.literal if one is not None else None for one in (lower, upper, step)]
    if all(one is None or type(one) is int for one in numbers) and 0 not in numbers[2:]:
        return _between(whole, slice(*numbers))
    if key.lower is not None and key.upper is not None:
        length = step_length(interpreter, key.lower, key.upper, point)
        if length is not None:
            return length
    bounds = [bound for bound in (lower, upper) if bound is not None]
    if upper is not None and step is None and (lower is None or lower.literal == 0):
        return upper
    kinds = [bound.decide() for bound in bounds]
    if Variability.PER_CALL in kinds and key.step is None:
        return join(bounds)._replace(size=None)
    if key.upper is not None and Variability.UNKNOWN not in kinds:
        return join(bounds)._replace(size=None, literal=..., low=None, high=None)
    return _part_of(whole)


def step_length(interpreter: Interpreter, lower: Expr, upper: Expr, point: ProgramPoint) -> AbstractNumber | None:
    """Return `upper - lower` if that is the step of a loop with `upper = min(lower + step, n)`; else None."""
    step = _step(lower, upper, point, _MOST_STEPS)
    if step is None:
        return None
    length = interpreter.number(step, point)
    return length._replace(kind=Variability.FEW, literal=...) if length.kind is Variability.FIXED else length


def _bound(interpreter: Interpreter, bound: Expr | None, point: ProgramPoint) -> AbstractNumber | None:
    """Return a bound of a slice; None if it is omitted."""
    return None if bound is None or bound == Const(None) else interpreter.number(bound, point)


def _between(whole: AbstractNumber, bounds: slice) -> AbstractNumber:
    """Return the length between literal bounds."""
    if type(whole.literal) is int and whole.literal >= 0:
        return whole_number(len(range(*bounds.indices(whole.literal))))
    start, stop = bounds.start or 0, bounds.stop
    step = bounds.step or 1
    if stop is not None and (start < 0) == (stop < 0) and step > 0:
        return whole_number(len(range(start, stop, step)))  # shorter if the axis itself is
    if stop is None and start < 0 < step:
        return whole_number(len(range(start, 0, step)))
    return _part_of(whole)


def _part_of(whole: AbstractNumber) -> AbstractNumber:
    """Return a part of an axis, whose kind it keeps."""
    return whole._replace(size=None, literal=..., low=None)


def _step(lower: Expr, upper: Expr, point: ProgramPoint, steps: int) -> Expr | None:
    """Return what `upper` adds to `lower`; None if that is not spelled out."""
    match lower, upper:
        case _, BinaryOp("+", (base, step)) if lower in (base, step):
            return step if lower == base else base
        case BinaryOp("*", (base, step)), BinaryOp("*", (BinaryOp("+", (more, Const(1))), other)) if (base, step) == (
            more,
            other,
        ):
            return step
        case _, Call(func, args, ()) if (dotted(func) or "") == "min" and steps:
            sums = (_step(lower, arg, point, steps - 1) for arg in args)
            return next((step for step in sums if step is not None), None)
        case _:
            pass
    if not steps:
        return None
    end, begin = _assigned(upper, point), _assigned(lower, point)
    if end is not None and (found := _step(lower, end, point, steps - 1)) is not None:
        return found
    return _step(begin, upper, point, steps - 1) if begin is not None else None


def _assigned(expr: Expr, point: ProgramPoint) -> Expr | None:
    """Return the expression assigned to a name, if there is exactly one."""
    if not isinstance(expr, Name):
        return None
    bound = reaching_definitions(point.frame.function, expr.id, point.order, point.arms)
    if not bound.certain or len(bound.bindings) != 1:
        return None
    match bound.bindings[0].value:
        case Unpacked(TupleExpr(items), int(position), size, False) if len(items) == size:
            return items[position]
        case value:
            return value

"""Slices, `x[lower:upper]` and `x[..., lower:upper]`, to how often the length of the axis that they cut changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import BinaryOp, Call, Const, Name, Slice, TupleExpr, Unpacked, dotted
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.variability import tensors
from triton_doctor.static.variability.dims import DimProduct, RemainingDims
from triton_doctor.static.variability.lattice import UNKNOWN, AbstractNumber, Variability, join
from triton_doctor.static.variability.values import SymbolicValue, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter import Interpreter
    from triton_doctor.static.variability.program_point import ProgramPoint

# `end = min(begin + step, n)` is one name and one call away from the sum.
_MOST_STEPS = 3


def slice_length(flow: Interpreter, whole: AbstractNumber, key: Slice, place: ProgramPoint) -> AbstractNumber:
    """The length of `x[lower:upper]`, of an axis of the length `whole`.

    `x[i : i + step]` is as long as `step`, but for the last of such slices. Bounds from the data make it follow the
    data; bounds that are not known leave what speaks for the axis itself.
    """
    if key.lower is not None and key.upper is not None:
        step = _step(key.lower, key.upper, place, _MOST_STEPS)
        if step is not None:
            length = flow.scalar(step, place)
            return length._replace(kind=Variability.FEW, literal=...) if length.kind is Variability.FIXED else length
    bounds = [flow.scalar(bound, place) for bound in (key.lower, key.upper) if bound is not None]
    kinds = [bound.decide() for bound in bounds]
    if Variability.PER_CALL in kinds and key.step is None:
        return join(bounds)._replace(size=None)
    if key.upper is not None and Variability.UNKNOWN not in kinds:
        return join(bounds)._replace(size=None, literal=..., low=None, high=None)
    return whole._replace(size=None, literal=..., low=None)


def _step(lower: Expr, upper: Expr, place: ProgramPoint, steps: int) -> Expr | None:
    """What `upper` adds to `lower`; None where that is not written out."""
    match lower, upper:
        case _, BinaryOp("+", (base, step)) if lower in (base, step):
            return step if lower == base else base
        case BinaryOp("*", (base, step)), BinaryOp("*", (BinaryOp("+", (more, Const(1))), other)) if (base, step) == (
            more,
            other,
        ):
            return step
        case _, Call(func, args, ()) if (dotted(func) or "") == "min" and steps:
            sums = (_step(lower, arg, place, steps - 1) for arg in args)
            return next((step for step in sums if step is not None), None)
        case _:
            pass
    if not steps:
        return None
    end, begin = _assigned(upper, place), _assigned(lower, place)
    if end is not None and (found := _step(lower, end, place, steps - 1)) is not None:
        return found
    return _step(begin, upper, place, steps - 1) if begin is not None else None


def _assigned(expr: Expr, place: ProgramPoint) -> Expr | None:
    """What a name was assigned, where that is one expression."""
    if not isinstance(expr, Name):
        return None
    bound = reaching_definitions(place.frame.function, expr.id, place.order, place.arms)
    if not bound.certain or len(bound.bindings) != 1:
        return None
    match bound.bindings[0].value:
        case Unpacked(TupleExpr(items), int(position), size, False) if len(items) == size:
            return items[position]
        case value:
            return value


def sliced_at_the_end(
    flow: Interpreter, value: Tensor | SymbolicValue, keys: Sequence[Expr], place: ProgramPoint
) -> Tensor:
    """`x[..., a:b]`: the last axis is cut, the others stay."""
    match keys:
        case (_, Slice() as cut):
            pass
        case _:
            return Tensor(open=UNKNOWN)
    own = tensors.axis_at(value, -1)
    last = own if cut == Slice(None, None, None) else slice_length(flow, own, cut, place)
    count = tensors.rank(value)
    if count is not None:
        return Tensor(front=(*(tensors.axis_at(value, at) for at in range(count - 1)), last))
    if isinstance(value, SymbolicValue):
        return Tensor(open=tensors.of_size(DimProduct((RemainingDims(value.root, 0, 1),))), back=(last,))
    return Tensor(open=UNKNOWN)

"""Arguments of torch functions: by position or name, as axis numbers, or as lists of sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from triton_doctor.static.python.ir import BinaryOp, Call, Conditional, Const, Name, Star, TupleExpr
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.variability.hints.name_words import names_shape
from triton_doctor.static.variability.values import tensors
from triton_doctor.static.variability.values.lattice import AbstractNumber
from triton_doctor.static.variability.values.values import ListValue, Shape, SymbolicValue, Tensor, TupleValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.values.evaluator import Evaluator
    from triton_doctor.static.variability.values.values import ProgramPoint

AnyTensor: TypeAlias = "Tensor | SymbolicValue"
# Steps to follow from an axis number: `dim = dim if dim >= 0 else dim + x.ndim` after `dim = -1`.
_MOST_STEPS = 3


def argument(call: Call, position: int, *names: str) -> Expr | None:
    """Return the argument at `position`, or with one of `names`; None if it is missing or hidden by a star."""
    given = call.args[: position + 1]
    if any(isinstance(arg, Star) for arg in given):
        return None
    if len(given) > position:
        return given[position]
    return next((value for name, value in call.keywords if name in names), None)


def axis_number(evaluator: Evaluator, expr: Expr | None, point: ProgramPoint, steps: int = _MOST_STEPS) -> int | None:
    """Return the axis number in `expr`, such as -1; None if it is not one number.

    Adding the number of axes to make it positive keeps the same axis. An argument counts as its default.
    """
    match expr:
        case None:
            return None
        case Const(number):
            return number if type(number) is int else None
        case BinaryOp("%", (inner, _)) if steps and (at := axis_number(evaluator, inner, point, steps - 1)) is not None:
            return at
        case BinaryOp("+" | "-" as op, (Name() as inner, Const(int(shift)))) if steps:
            at = axis_number(evaluator, inner, point, steps - 1)
            moved = None if at is None else at + shift if op == "+" else at - shift
            # -1 + 1 is the position after the last axis, not the first
            return moved if at is not None and moved is not None and (at < 0) == (moved < 0) else None
        case Conditional(_, (option, other)) if steps:
            return axis_number(evaluator, _unwrapped(option, other), point, steps - 1)
        case Name(name) if steps:
            return _named_axis(evaluator, name, point, steps - 1)
        case _:
            value = evaluator.value(expr, point)
            literal = value.literal if isinstance(value, AbstractNumber) else None
            return literal if type(literal) is int else None


def _named_axis(evaluator: Evaluator, name: str, point: ProgramPoint, steps: int) -> int | None:
    found = reaching_definitions(point.frame.function, name, point.order, point.arms)
    values = [binding for binding in found.bindings if _adds_rank(binding.value) != Name(name)]
    if found.certain and len(values) == 1 and (point.local is None or name not in point.local):
        inner = point._replace(order=values[0].order)
        return axis_number(evaluator, values[0].value, inner, steps)
    if values and not found.certain:
        return None
    value = evaluator.value(
        Name(name), point._replace(order=min([point.order, *(binding.order for binding in found.bindings)]))
    )
    literal = value.literal if isinstance(value, AbstractNumber) else None
    if isinstance(value, SymbolicValue) and value.origin is not None:
        # Arguments of some callers say little: the function works on any axis.
        defaults = (param.default for param in value.origin.params if param.name == value.root.name)
        literal = next((default.value for default in defaults if isinstance(default, Const)), None)
    return literal if type(literal) is int else None


def _unwrapped(option: Expr, other: Expr) -> Expr | None:
    """Return `dim` of `dim if dim >= 0 else dim + x.ndim`."""
    if _adds_rank(option) == other:
        return other
    return option if _adds_rank(other) == option else None


def _adds_rank(expr: Expr) -> Expr | None:
    """Return `dim` of `dim + x.ndim`."""
    match expr:
        case BinaryOp("+", (Name() as name, _)) | BinaryOp("+", (_, Name() as name)):
            return name
        case _:
            return None


def axis_numbers(evaluator: Evaluator, args: Sequence[Expr], point: ProgramPoint) -> list[int] | None:
    """Return the axis numbers in `args`, or in the only tuple among them; None if one is unknown."""
    items = args[0].items if len(args) == 1 and isinstance(args[0], TupleExpr) else args
    found = [axis_number(evaluator, item, point) for item in items]
    known = [number for number in found if number is not None]
    return known if len(known) == len(found) else None


def sizes(evaluator: Evaluator, args: Sequence[Expr], point: ProgramPoint) -> list[AbstractNumber | Shape] | None:
    """Return sizes given one by one or as one tuple; None if their number is unknown.

    A shape among them stands for all of its axes if their number is unknown.
    """
    if len(args) == 1 and not isinstance(args[0], Star):
        value = evaluator.value(args[0], point)
        match value:
            case TupleValue():
                pass
            case Shape(of) if (rank := tensors.rank(of)) is not None:
                return [evaluator.axis(of, position, point.frame) for position in range(rank)]
            case Shape():
                return [value]
            case ListValue():
                return None
            case SymbolicValue(root) if names_shape(root.name):
                return None
            case _:
                return [evaluator.as_number(value, point.frame)]
    elif any(isinstance(arg, Star) for arg in args):
        value = evaluator.value(TupleExpr(tuple(args)), point)
    else:
        return [evaluator.number(arg, point) for arg in args]
    if not isinstance(value, TupleValue) or value.open:
        return None
    return [size if isinstance(size, Shape) else evaluator.as_number(size, point.frame) for size in value.items]


def tensor_at(evaluator: Evaluator, expr: Expr | None, point: ProgramPoint) -> AnyTensor | None:
    """Return the tensor that `expr` evaluates to; None if it is none or missing."""
    found = evaluator.value(expr, point) if expr is not None else None
    return found if isinstance(found, Tensor | SymbolicValue) else None

"""`len(...)` of known and unknown values, and the length of a slice `x[lower:upper]`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.ir import (
    BinaryOp,
    Call,
    Const,
    Name,
    TupleExpr,
    Unpacked,
    dotted,
)
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.sources.source_text import TextPattern
from triton_doctor.static.variability.hints.axis_context import AxisContext
from triton_doctor.static.variability.hints.hints import apply_hints
from triton_doctor.static.variability.hints.name_words import names_list_of_model, names_shape
from triton_doctor.static.variability.values import tensors
from triton_doctor.static.variability.values.lattice import (
    FEW,
    FIXED,
    UNKNOWN,
    AbstractNumber,
    Note,
    Variability,
    choice,
    join,
)
from triton_doctor.static.variability.values.tensors import whole_number
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
    from triton_doctor.static.python.ir import Expr, Slice
    from triton_doctor.static.variability.values.evaluator import Evaluator
    from triton_doctor.static.variability.values.values import CallFrame, ProgramPoint, Value

# Attributes that only tensors have, such as `x.shape`.
_BEFORE = re.compile(rb"(?<![A-Za-z0-9_.])")
_AFTER = re.compile(rb"\.(?:shape|stride|size|device|dtype|ndim|numel|is_cuda|is_contiguous|contiguous|data_ptr)\b")


def length(evaluator: Evaluator, value: Value, frame: CallFrame) -> AbstractNumber:
    """Return the length of a sequence, table or tensor."""
    match value:
        case SymbolicValue() if not is_used_as_tensor(value):
            return evaluator.passed_length(value, frame) or length_of_symbol(value)
        case SymbolicValue() | Tensor():
            return evaluator.axis(value, 0, frame)
        case Union(options):
            lengths = [length(evaluator, option, frame) for option in options]
            is_known = lengths[0].literal is not ... and len({number.literal for number in lengths}) == 1
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


# Steps to follow to the sum: `end = min(begin + step, n)` is one name and one call away.
_MOST_STEPS = 3


def slice_length(evaluator: Evaluator, whole: AbstractNumber, key: Slice, point: ProgramPoint) -> AbstractNumber:
    """Return the length of `x[lower:upper]`, for an axis of the length `whole`.

    `x[i : i + step]` has the length `step`, except for the last slice. Bounds from the data make it follow the data;
    with unknown bounds, the hints of the axis remain.
    """
    lower, upper, step = (_bound(evaluator, bound, point) for bound in key)
    numbers = [bound.literal if bound is not None else None for bound in (lower, upper, step)]
    if all(number is None or type(number) is int for number in numbers) and 0 not in numbers[2:]:
        return _between(whole, slice(*numbers))
    if key.lower is not None and key.upper is not None:
        length = step_length(evaluator, key.lower, key.upper, point)
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


def step_length(evaluator: Evaluator, lower: Expr, upper: Expr, point: ProgramPoint) -> AbstractNumber | None:
    """Return `upper - lower` if that is the step of a loop with `upper = min(lower + step, n)`; else None."""
    step = _step(lower, upper, point, _MOST_STEPS)
    if step is None:
        return None
    length = evaluator.number(step, point)
    return length._replace(kind=Variability.FEW, literal=...) if length.kind is Variability.FIXED else length


def _bound(evaluator: Evaluator, bound: Expr | None, point: ProgramPoint) -> AbstractNumber | None:
    """Return a bound of a slice; None if it is omitted."""
    return None if bound is None or bound == Const(None) else evaluator.number(bound, point)


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

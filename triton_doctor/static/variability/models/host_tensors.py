"""Tensors filled by the host: the abstract number of each item, so that reading one back is not reading data.

`torch.tensor(layout.warps).prod().item()` changes as often as `layout.warps` does. Computations on such tensors keep
their contents. A tensor that something else may write to, such as a kernel or `all_reduce`, loses them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.ir import Attr, Name, Star, TupleExpr, dotted
from triton_doctor.static.sources.source_text import TextPattern
from triton_doctor.static.variability.hints.axis_context import AxisContext
from triton_doctor.static.variability.hints.hints import apply_hints
from triton_doctor.static.variability.hints.name_words import names_data
from triton_doctor.static.variability.models.lengths import is_used_as_tensor
from triton_doctor.static.variability.models.origins import from_data
from triton_doctor.static.variability.values.lattice import AbstractNumber, join
from triton_doctor.static.variability.values.values import ListValue, Shape, SymbolicValue, Tensor, TupleValue, Union

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Call, Expr
    from triton_doctor.static.variability.values.evaluator import Evaluator
    from triton_doctor.static.variability.values.values import CallFrame, ProgramPoint, Value

# Reductions whose result depends on the number of items; that of `max` and the like does not.
_SUMMING = frozenset("sum prod nansum norm count_nonzero cumsum cumprod logsumexp".split())
# Calls that do not change a tensor argument, besides functions of torch, whose names tell.
_READING = frozenset("int float bool len print range list tuple max min sum isinstance abs round zip enumerate".split())
# Stores to items, `x[0] = n`, `x[mask] += n`: the stored values are not followed.
_BEFORE = re.compile(rb"(?<![A-Za-z0-9_.])")
_STORED = re.compile(rb"\[[^\]\n]*\]\s*(?:[-+*/|&^%@]|//|\*\*|<<|>>)?=(?!=)")


def filled(evaluator: Evaluator, name: str, call: Call, point: ProgramPoint) -> Value:
    """Return the tensor `name` made by `torch.tensor(items)` or a similar call; a tensor argument stays as it is."""
    value = evaluator.value(call.args[0], point)
    if isinstance(value, Tensor) or (isinstance(value, SymbolicValue) and _is_tensor(value, name)):
        return value
    length = evaluator.length(value, point.frame)
    return Tensor(front=(length,), contiguous=True, contents=_contents(evaluator, value, point.frame))


def _is_tensor(symbol: SymbolicValue, function: str) -> bool:
    """Return whether the argument of `function` is a tensor already: `from_numpy` takes nothing else."""
    if function == "from_numpy" or is_used_as_tensor(symbol):
        return True
    if function != "as_tensor" or symbol.origin is None:
        return False
    # Functions that convert "as needed" usually receive tensors, unless annotated otherwise.
    param = symbol.origin.param(symbol.root.name)
    return param is not None and param.annotation is None


def _contents(evaluator: Evaluator, value: Value, frame: CallFrame) -> AbstractNumber | None:
    """Return the abstract number of each item of `value`; None if it contains a tensor with unknown data."""
    match value:
        case AbstractNumber():
            return value
        case Tensor():
            return value.contents
        case SymbolicValue(root, _, _):
            number = evaluator.as_number(value, frame)
            if names_data(root.name):
                greatest = AxisContext(is_length=True, name=root.name)
                number = number.add_hints(apply_hints(greatest, root.path, root.line))
            return number
        case Shape(of):
            return evaluator.numel(of, frame)
        case ListValue(item, _):
            return _contents(evaluator, item, frame)
        case TupleValue(items, _):
            return _joined(_contents(evaluator, item, frame) for item in items)
        case Union(options):
            return _joined(_contents(evaluator, option, frame) for option in options)
        case _:
            return None


def _joined(parts: Iterable[AbstractNumber | None]) -> AbstractNumber | None:
    every = list(parts)
    known = [contents for contents in every if contents is not None]
    return join(known)._replace(literal=...) if known and len(known) == len(every) else None


def read_out(value: Value, base: Expr, name: str | None, point: ProgramPoint) -> AbstractNumber:
    """Return the number that `base.name()`, or `int(base)` if there is no name, reads from the tensor `value`."""
    if isinstance(value, Tensor | SymbolicValue) and value.contents is not None:
        return value.contents
    return from_data(base, name, point)


def with_contents(result: Value, name: str, operands: Iterable[Value]) -> Value:
    """Return the tensor `result` of the function `name` with its contents, if those of all operands are known."""
    if not isinstance(result, Tensor | SymbolicValue):
        return result
    parts: list[AbstractNumber] = []
    for operand in operands:
        if isinstance(operand, Tensor | SymbolicValue):
            if operand.contents is None:
                return result._replace(contents=None)
            parts.append(operand.contents)
            if name in _SUMMING and isinstance(operand, Tensor) and operand.open is None:
                parts += operand.front
        elif isinstance(operand, AbstractNumber):
            parts.append(operand)
    return result._replace(contents=join(parts)._replace(literal=...) if parts else None)


def unless_written(value: Tensor, name: str, function: Function) -> Tensor:
    """Return the tensor called `name` in `function`, without its contents if something there may write to it."""
    if value.contents is None:
        return value
    written = function.matches(item_store_pattern(name)) or any(_may_write(site.call, name) for site in function.calls)
    return value._replace(contents=None) if written else value


@cached_in_scan()
def item_store_pattern(name: str) -> TextPattern:
    """Return a pattern that matches a store to an item of `name`."""
    return TextPattern(name, _BEFORE, _STORED)


def _may_write(call: Call, name: str) -> bool:
    """Return whether `call` may change items of `name`: as `name.add_(x)`, or as a function that receives it."""
    match call.func:
        case Attr(Name(receiver), method) if receiver == name:
            return method.endswith("_")
        case Attr(Name("torch"), method) if not method.endswith("_"):
            return dict(call.keywords).get("out") == Name(name)
        case Attr(_, "save_for_backward"):
            return False  # autograd raises if a saved tensor was changed
        case func if dotted(func) in _READING:
            return False
        case _:
            return any(_passes(arg, name) for arg in (*call.args, *(value for _, value in call.keywords)))


def _passes(arg: Expr, name: str) -> bool:
    match arg:
        case Name(other):
            return other == name
        case Star(value):
            return _passes(value, name)
        case TupleExpr(items):
            return any(_passes(item, name) for item in items)
        case _:
            return False

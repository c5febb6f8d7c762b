"""Tensors that the host fills: the number that each item is, so that reading one back is no read of data.

`torch.tensor(layout.warps).prod().item()` changes as often as `layout.warps` does. What is computed of such tensors
alone keeps their contents. A tensor that something else may write to, a kernel or `all_reduce`, loses them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.ir import Attr, Name, Star, TupleExpr, dotted
from triton_doctor.static.sources.source_text import TextPattern
from triton_doctor.static.variability.axis_context import AxisContext
from triton_doctor.static.variability.hints import apply_hints
from triton_doctor.static.variability.lattice import AbstractNumber, join
from triton_doctor.static.variability.lengths import is_used_as_tensor
from triton_doctor.static.variability.name_words import names_data
from triton_doctor.static.variability.origins import from_data
from triton_doctor.static.variability.values import ListValue, Shape, SymbolicValue, Tensor, TupleValue, Union

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Call, Expr
    from triton_doctor.static.variability.interpreter import Interpreter
    from triton_doctor.static.variability.program_point import CallFrame, ProgramPoint
    from triton_doctor.static.variability.values import Value

# More items make these another number; of `max` and the like that is so of the items alone.
_SUMMING = frozenset("sum prod nansum norm count_nonzero cumsum cumprod logsumexp".split())
# Calls that take a tensor and leave it as it is, beside the functions of torch, which say so by their name.
_READING = frozenset("int float bool len print range list tuple max min sum isinstance abs round zip enumerate".split())
# `x[0] = n`, `x[mask] += n`: what is stored is out of sight.
_BEFORE = re.compile(rb"(?<![A-Za-z0-9_.])")
_STORED = re.compile(rb"\[[^\]\n]*\]\s*(?:[-+*/|&^%@]|//|\*\*|<<|>>)?=(?!=)")


def filled(interpreter: Interpreter, name: str, call: Call, point: ProgramPoint) -> Value:
    """`torch.tensor(items)` and what is like it, called `name`; a tensor that is passed remains what it is."""
    value = interpreter.value(call.args[0], point)
    if isinstance(value, Tensor) or (isinstance(value, SymbolicValue) and _is_tensor(value, name)):
        return value
    length = interpreter.length(value, point.frame)
    return Tensor(front=(length,), contiguous=True, contents=_contents(interpreter, value, point.frame))


def _is_tensor(thing: SymbolicValue, function: str) -> bool:
    """Whether what is passed to `function` is a tensor already: `from_numpy` takes nothing else."""
    if function == "from_numpy" or is_used_as_tensor(thing):
        return True
    if function != "as_tensor" or thing.origin is None:
        return False
    # Who converts "as needed" is given tensors, unless the annotation says otherwise.
    param = thing.origin.param(thing.root.name)
    return param is not None and param.annotation is None


def _contents(interpreter: Interpreter, value: Value, frame: CallFrame) -> AbstractNumber | None:
    """What the items of `value` are; None where a tensor is among them whose data is out of sight."""
    match value:
        case AbstractNumber():
            return value
        case Tensor():
            return value.contents
        case SymbolicValue(root, _, _):
            number = interpreter.as_number(value, frame)
            if names_data(root.name):
                greatest = AxisContext(is_length=True, name=root.name)
                number = number.add_hints(apply_hints(greatest, root.path, root.line))
            return number
        case Shape(of):
            return interpreter.numel(of, frame)
        case ListValue(item, _):
            return _contents(interpreter, item, frame)
        case TupleValue(items, _):
            return _joined(_contents(interpreter, item, frame) for item in items)
        case Union(options):
            return _joined(_contents(interpreter, option, frame) for option in options)
        case _:
            return None


def _joined(parts: Iterable[AbstractNumber | None]) -> AbstractNumber | None:
    every = list(parts)
    known = [one for one in every if one is not None]
    return join(known)._replace(literal=...) if known and len(known) == len(every) else None


def read_out(value: Value, base: Expr, name: str | None, point: ProgramPoint) -> AbstractNumber:
    """`base.name()`, or `base` itself: a number out of the tensor `value`."""
    if isinstance(value, Tensor | SymbolicValue) and value.contents is not None:
        return value.contents
    return from_data(base, name, point)


def with_contents(result: Value, name: str, operands: Iterable[Value]) -> Value:
    """The tensor `result` of the function `name` with what its items are, where those of all tensors are known."""
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
    """The tensor that is called `name` in `function`, without its contents where something there may change them."""
    if value.contents is None:
        return value
    written = function.matches(stores_items(name)) or any(_may_write(site.call, name) for site in function.calls)
    return value._replace(contents=None) if written else value


@cached_in_scan()
def stores_items(name: str) -> TextPattern:
    """What storing an item of `name` looks like."""
    return TextPattern(name, _BEFORE, _STORED)


def _may_write(call: Call, name: str) -> bool:
    """Whether `call` may change the items of `name`: as `name.add_(x)`, or as a function that is passed it."""
    match call.func:
        case Attr(Name(receiver), method) if receiver == name:
            return method.endswith("_")
        case Attr(Name("torch"), method) if not method.endswith("_"):
            return dict(call.keywords).get("out") == Name(name)
        case Attr(_, "save_for_backward"):
            return False  # autograd raises where what it saved has changed
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

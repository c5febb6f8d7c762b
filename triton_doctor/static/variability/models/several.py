"""Calls with several results: `divmod(n, 64)`, `map(int, x.shape)`, `torch.unique(x, return_inverse=True)`."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Attr, Call, Comprehension, ComprehensionLoop, Const, Lambda, Name
from triton_doctor.static.variability.models.indexing import element
from triton_doctor.static.variability.models.lists import counted
from triton_doctor.static.variability.models.origins import from_data
from triton_doctor.static.variability.models.torch_results import combined
from triton_doctor.static.variability.values.arithmetic import apply
from triton_doctor.static.variability.values.lattice import UNKNOWN
from triton_doctor.static.variability.values.values import ListValue, SymbolicValue, Tensor, TupleValue

if TYPE_CHECKING:
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.program_point import ProgramPoint
    from triton_doctor.static.variability.values.values import Value

SEVERAL = frozenset({"divmod", "map", "product", "broadcast_tensors", "where"})
_NUMBERS = frozenset({"int", "float"})
# The item that `map` passes to a function; not a valid name in a program.
_MAPPED = Name("<item>")


def several(interpreter: Interpreter, name: str, call: Call, point: ProgramPoint) -> Value | None:
    """Return the results of a function called `name`, one of SEVERAL; None if unknown."""
    match name, call.args:
        case "divmod", (over, under):
            numbers = [interpreter.number(over, point), interpreter.number(under, point)]
            return TupleValue([apply("//", numbers), apply("%", numbers)])
        case "map", (Name(function), items) if function in _NUMBERS:
            return interpreter.value(items, point)
        case "map", (Lambda((_,) as names, body), items):
            return interpreter.value(Comprehension(body, (ComprehensionLoop(names, items, False),)), point)
        case "map", (Name() | Attr() as function, items):
            body = Call(function, (_MAPPED,), ())
            return interpreter.value(Comprehension(body, (ComprehensionLoop((_MAPPED.id,), items, False),)), point)
        case "product", sources if not call.keywords:
            values = [interpreter.value(source, point) for source in sources]
            parts = [element(interpreter, value, point.frame) for value in values]
            return ListValue(TupleValue(parts), counted(prod, [interpreter.length(one, point.frame) for one in values]))
        case "broadcast_tensors", args:
            tensors = [one for arg in args if isinstance(one := interpreter.value(arg, point), Tensor | SymbolicValue)]
            return TupleValue([combined(tensors)] * len(args)) if len(tensors) == len(args) else None
        case "where", (condition,):  # a tensor of positions for each axis, as `nonzero` returns
            return ListValue(item=_found(condition, name, point), length=UNKNOWN)
        case _:
            return None


def found_items(name: str, call: Call, base: Expr, point: ProgramPoint) -> Value | None:
    """Return the tensors that `nonzero` or `unique` returns if asked for several; None if it returns one."""
    asked = [key for key, value in call.keywords if key is not None and value == Const(True)]
    one = _found(base, name, point)
    if name == "nonzero" and "as_tuple" in asked:
        return ListValue(item=one, length=UNKNOWN)
    if name == "unique" and any(key.startswith("return_") for key in asked):
        return TupleValue([one] * (1 + sum(key.startswith("return_") for key in asked)))
    return None


def _found(base: Expr, name: str, point: ProgramPoint) -> Tensor:
    """Return a tensor with as many items as `name` finds in the data of `base`."""
    return Tensor(front=(from_data(base, name, point),), contiguous=True)

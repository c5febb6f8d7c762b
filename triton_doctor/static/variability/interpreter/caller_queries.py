"""The queries about arguments that a function can make to its callers: axes, strides, parts, items."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.variability.interpreter import axes
from triton_doctor.static.variability.models.indexing import element, item_of_argument
from triton_doctor.static.variability.values import tensors, views
from triton_doctor.static.variability.values.lattice import UNKNOWN, AbstractNumber
from triton_doctor.static.variability.values.values import Shape, Strides, SymbolicValue, Tensor, TupleValue, Value

if TYPE_CHECKING:
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.program_point import CallFrame


class Query(NamedTuple):
    """A query about a value: the value itself, its `length`, an `axis` or `stride` at `position`, or one of three more.

    These are a `part` at `position` of an unpacking into `size`, the `attribute` called `name`, and the `rest` of the
    axes without the first `position` and the last `size`. `rank` is the number of axes known to the querying function.
    """

    kind: str
    position: int = 0
    size: int = 0
    is_open: bool = False
    rank: int | None = None
    name: str = ""


VALUE = Query("value")
LENGTH = Query("length")


def part_of(interpreter: Interpreter, value: Value, query: Query, frame: CallFrame) -> AbstractNumber | None:
    """Return the queried axis, stride or part of `value`; None if it has none."""
    if query.rank is not None and isinstance(value, SymbolicValue):
        value = value._replace(root=value.root.with_rank(query.rank))
    elif query.rank is not None and isinstance(value, Tensor):
        value = views.of_rank(value, query.rank)
        if query.position >= 0 and tensors.rank(value) not in (query.rank, None):
            return UNKNOWN
    match query.kind, value:
        case "rest", Tensor() | SymbolicValue():
            return axes.rest(interpreter, value, query.position, query.size, frame)
        case "axis", Tensor() | SymbolicValue():
            return interpreter.axis(value, query.position, frame)
        case "stride", Tensor() | SymbolicValue():
            return interpreter.stride(value, query.position, frame)
        case "part", Shape() | Strides() | TupleValue() | SymbolicValue():
            found = interpreter.part(value, query.position, query.size, query.is_open, frame)
            return interpreter.as_number(found, frame) if found is not None else None
        case _:
            return None


def item_at(interpreter: Interpreter, value: Value, position: int | None, frame: CallFrame) -> Value:
    """Return the item of a list at `position`; any item if None."""
    match value:
        case TupleValue(open=False) if position is not None and -value.count <= position < value.count:
            return value.at(position)
        case SymbolicValue() if position is not None:
            return item_of_argument(value, position)
        case _:
            return element(interpreter, value, frame)

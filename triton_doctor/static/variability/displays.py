"""What is written out in place: literals, tuples, tables and comprehensions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Call, Const, Name, Star
from triton_doctor.static.variability import tensors
from triton_doctor.static.variability.indexing import element
from triton_doctor.static.variability.lattice import HANDFUL, Kind, Scalar
from triton_doctor.static.variability.values import Many, Promise, Sequence, Shape, Strides, Table, Value

if TYPE_CHECKING:
    from triton_doctor.static.python.ir import Each, Expr
    from triton_doctor.static.variability.interpreter import Flow
    from triton_doctor.static.variability.program_point import Place


def literal_value(literal: object) -> Scalar:
    """A number, a flag, a word, None or `...`."""
    if isinstance(literal, int) and not isinstance(literal, bool):
        power = literal > 0 and literal & (literal - 1) == 0
        return Scalar(Kind.FIXED, low=literal, high=literal, power=power, literal=literal)
    return Scalar(Kind.FIXED, literal=literal)


def pack(flow: Flow, items: tuple[Expr, ...], place: Place) -> Sequence:
    """A tuple, list or set display; its items wait until somebody asks for them."""
    values: list[Value | Promise] = []
    is_open = False
    for expr in items:
        if isinstance(expr, Star):
            inner = flow.value(expr.value, place)
            match inner:
                case Sequence(open=own_open):
                    values.extend(partial(inner.at, position) for position in range(inner.count))
                    is_open = is_open or own_open
                case Shape(of) if (rank := tensors.rank(of)) is not None:
                    values.extend(partial(flow.axis, of, position, place.frame) for position in range(rank))
                case Strides(of) if (rank := tensors.rank(of)) is not None:
                    values.extend(partial(flow.stride, of, position, place.frame) for position in range(rank))
                case Shape():
                    values.append(inner)
                case _:
                    is_open = True
        else:
            values.append(partial(flow.value, expr, place))
    return Sequence(values, is_open=is_open)


def table(flow: Flow, items: tuple[tuple[Expr | None, Expr], ...], place: Place) -> Table:
    """A dict display; what has no literal string for a key is left out."""
    known: dict[str, Value] = {}
    is_open = False
    for key, value in items:
        if isinstance(key, Const) and isinstance(key.value, str):
            known[key.value] = flow.value(value, place)
        else:
            is_open = True
    return Table(items=known, open=is_open)


def _known_items(flow: Flow, source: Value, place: Place) -> tuple[Value, ...] | None:
    match source:
        case Sequence(open=False) if source.starred is None and source.count <= HANDFUL:
            return source.items
        case Shape(of) if (rank := tensors.rank(of)) is not None:
            return tuple(flow.axis(of, position, place.frame) for position in range(rank))
        case _:
            return None


def each(flow: Flow, comprehension: Each, place: Place) -> Value:
    """A comprehension: as many items as its source has, unless some are left out; known items keep their positions."""
    source = flow.value(comprehension.source, place)
    if len(comprehension.names) == 1 and not (comprehension.filtered or comprehension.further):
        (name,) = comprehension.names
        if isinstance(source, Shape) and comprehension.element in (Name(name), Call(Name("int"), (Name(name),), ())):
            return source
        items = _known_items(flow, source, place)
        if items is not None:
            one_by_one = (place.binding({name: item}) for item in items)
            return Sequence([partial(flow.value, comprehension.element, inner) for inner in one_by_one])
    one = element(flow, source, place.frame)
    length = flow.length(source, place.frame)
    if comprehension.filtered and length.settled() is Kind.UNKNOWN:
        length = length._replace(kind=Kind.PER_CALL, from_data=True)
    inner = place.binding(dict.fromkeys(comprehension.names, one))
    return Many(item=flow.value(comprehension.element, inner), length=length)

"""Literals, tuples, tables, comprehensions and operators."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import (
    BinaryOp,
    Call,
    Comprehension,
    Const,
    Name,
    Star,
    Subscript,
)
from triton_doctor.static.variability.models.host_tensors import with_contents
from triton_doctor.static.variability.models.indexing import element
from triton_doctor.static.variability.models.lengths import is_used_as_tensor, step_length
from triton_doctor.static.variability.models.sequences import concatenate, counted
from triton_doctor.static.variability.models.torch_results import combined, multiplied
from triton_doctor.static.variability.values import tensors
from triton_doctor.static.variability.values.arithmetic import apply, dividend
from triton_doctor.static.variability.values.lattice import (
    HANDFUL,
    AbstractNumber,
    Literal,
    Variability,
)
from triton_doctor.static.variability.values.values import (
    DictValue,
    Lazy,
    ListValue,
    Shape,
    Strides,
    SymbolicValue,
    Tensor,
    TupleValue,
    Value,
    compute,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.values import CallFrame, ProgramPoint


def literal_value(literal: object, point: ProgramPoint) -> AbstractNumber:
    """Return a number, flag, string, None or `...` as an abstract number."""
    literals = (Literal(literal, type(literal), point.frame.module.path, point.line),)
    if isinstance(literal, int) and not isinstance(literal, bool):
        power = literal > 0 and literal & (literal - 1) == 0
        return AbstractNumber(
            Variability.FIXED,
            low=literal,
            high=literal,
            power=power,
            literal=literal,
            is_integer=True,
            literals=literals,
        )
    return AbstractNumber(Variability.FIXED, literal=literal, literals=literals)


def pack(interpreter: Interpreter, items: tuple[Expr, ...], point: ProgramPoint) -> TupleValue | ListValue:
    """Return the value of a tuple, list or set display; items are evaluated on access."""
    values: list[Value | Lazy] = []
    lists: list[Value] = []
    is_open = False
    for expr in items:
        if isinstance(expr, Star):
            inner = interpreter.value(expr.value, point)
            match inner:
                case TupleValue(open=own_open):
                    values.extend(partial(inner.at, position) for position in range(inner.count))
                    is_open = is_open or own_open
                case Shape(of) if (rank := tensors.rank(of)) is not None:
                    values.extend(partial(interpreter.axis, of, position, point.frame) for position in range(rank))
                case Strides(of) if (rank := tensors.rank(of)) is not None:
                    values.extend(partial(interpreter.stride, of, position, point.frame) for position in range(rank))
                case Shape():
                    values.append(inner)
                case ListValue():
                    lists.append(inner)
                case _:
                    is_open = True
        else:
            values.append(partial(interpreter.value, expr, point))
    shown = TupleValue(values, is_open=is_open)
    return concatenate(interpreter, [shown, *lists], point.frame) if lists else shown


def table(interpreter: Interpreter, items: tuple[tuple[Expr | None, Expr], ...], point: ProgramPoint) -> DictValue:
    """Return the value of a dict display; entries without a literal string as key are dropped."""
    known: dict[str, Value] = {}
    is_open = False
    for key, value in items:
        if isinstance(key, Const) and isinstance(key.value, str):
            known[key.value] = interpreter.value(value, point)
        else:
            is_open = True
    return DictValue(items=known, open=is_open)


def _known_items(interpreter: Interpreter, source: Value, point: ProgramPoint) -> tuple[Value, ...] | None:
    match source:
        case TupleValue(open=False) if source.starred is None and source.count <= HANDFUL:
            return source.items
        case Shape(of) if (rank := tensors.rank(of)) is not None:
            return tuple(interpreter.axis(of, position, point.frame) for position in range(rank))
        case _:
            return None


def each(interpreter: Interpreter, comprehension: Comprehension, point: ProgramPoint) -> Value:
    """Return the value of a comprehension: as long as its source unless filtered; known items keep their positions."""
    first = comprehension.loops[0]
    source = interpreter.value(first.source, point)
    if len(comprehension.loops) == len(first.names) == 1 and not first.filtered:
        (name,) = first.names
        if isinstance(source, Shape) and comprehension.element in (Name(name), Call(Name("int"), (Name(name),), ())):
            return source
        items = _known_items(interpreter, source, point)
        if items is not None:
            one_by_one = (point.binding({name: item}) for item in items)
            return TupleValue([partial(interpreter.value, comprehension.element, inner) for inner in one_by_one])
    zipped = _zipped(interpreter, comprehension, point)
    if zipped is not None:
        return zipped
    lengths: list[AbstractNumber] = []
    for loop in comprehension.loops:
        source = interpreter.value(loop.source, point)
        element_value, length = element(interpreter, source, point.frame), interpreter.length(source, point.frame)
        if loop.filtered:
            element_value, length = compute(element_value), length._replace(literal=..., low=None)
            if length.decide() is Variability.UNKNOWN:
                length = length._replace(kind=Variability.PER_CALL, terms=frozenset(), from_data=True)
        lengths.append(length)
        point = point.binding(dict.fromkeys(loop.names, element_value))
    return ListValue(item=interpreter.value(comprehension.element, point), length=counted(prod, lengths))


def _zipped(interpreter: Interpreter, comprehension: Comprehension, point: ProgramPoint) -> TupleValue | None:
    """Return a comprehension over `zip(a, (b, c))` or `enumerate((b, c))` item by item.

    None if the count is unknown.
    """
    match comprehension:
        case Comprehension(body, ((names, Call(Name("zip"), sources, keywords), False),)) if len(names) == len(
            sources
        ) and all(name == "strict" for name, _ in keywords):
            pass
        case Comprehension(body, (((_, _) as names, Call(Name("enumerate"), (source,), ()), False),)):
            sources = (source,)
        case _:
            return None
    known = [_known_items(interpreter, interpreter.value(source, point), point) for source in sources]
    counts = [len(items) for items in known if items is not None]
    if not counts:
        return None

    def at(position: int) -> Value:
        items = [interpreter.value(Subscript(source, Const(position)), point) for source in sources]
        if len(items) < len(names):
            items.insert(0, literal_value(position, point))
        return interpreter.value(body, point.binding(dict(zip(names, items, strict=True))))

    return TupleValue([partial(at, position) for position in range(min(counts))])


# `[1] * x.dim()`: tensors have few axes
_MOST_ITEMS = 8
_NO_TENSORS = (None, "int", "float", "bool", "str", "dtype")


def operate(interpreter: Interpreter, op: str, operands: Sequence[Expr], point: ProgramPoint) -> Value:
    """Return the value of `op` on one or two operands, as written at `point`."""
    match op, operands:
        case "//", (over, under):
            over = dividend(over, under)
            is_sum = isinstance(over, BinaryOp) and over.op in ("+", "-") and len(over.operands) > 1
            numbers = [interpreter.number(over, point), interpreter.number(under, point)]
            return apply(op, numbers, is_sum=is_sum)
        case "-", (Name() as stop, Name() as start):
            step = step_length(interpreter, start, stop, point)
            if step is not None:
                return step
        case _:
            pass
    return _operate(interpreter, op, [interpreter.value(operand, point) for operand in operands], point.frame)


def _operate(interpreter: Interpreter, op: str, operands: Sequence[Value], frame: CallFrame) -> Value:
    """Return the value of `op` on one or two values."""
    numbers = [operand for operand in operands if isinstance(operand, AbstractNumber)]
    if len(numbers) == len(operands):
        return apply(op, numbers)
    if any(isinstance(operand, Tensor) or _is_passed_tensor(operand) for operand in operands):
        things = [operand for operand in operands if isinstance(operand, Tensor | SymbolicValue)]
        found = combined(things) if op != "@" else multiplied(*things) if len(things) == 2 else None
        return with_contents(things[0] if found is None else found, op, operands)
    match op, operands:
        case "+", (TupleValue() | Shape() as left, TupleValue() | Shape() as right):
            is_open = any(isinstance(operand, TupleValue) and operand.open for operand in operands)
            return TupleValue([*_items(interpreter, left, frame), *_items(interpreter, right, frame)], is_open=is_open)
        case "+", (TupleValue() | ListValue(), TupleValue() | ListValue()):
            return concatenate(interpreter, operands, frame)
        case "*", (TupleValue(items, False), AbstractNumber(literal=int(times))) if len(items) * times <= _MOST_ITEMS:
            return TupleValue(items * times)
        case _:
            return apply(op, [interpreter.as_number(operand, frame) for operand in operands])


def _is_passed_tensor(value: Value) -> bool:
    """Return whether it is an argument that its function or annotation shows to be a tensor."""
    if not isinstance(value, SymbolicValue) or value.origin is None or value.held is not None:
        return False
    if is_used_as_tensor(value):
        return True
    annotated = (parameter.annotation for parameter in value.origin.params if parameter.name == value.root.name)
    return next(annotated, None) not in _NO_TENSORS and value.root.note is not None


def _items(interpreter: Interpreter, value: TupleValue | Shape, frame: CallFrame) -> Sequence[Value | Lazy]:
    if isinstance(value, TupleValue):
        return value.items
    rank = tensors.rank(value.of)
    return [value] if rank is None else [interpreter.axis(value.of, position, frame) for position in range(rank)]

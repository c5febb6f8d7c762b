"""Expressions to source text, for messages."""

from __future__ import annotations

from triton_doctor.nesting import with_own_stack
from triton_doctor.static.python.ir import (
    Attr,
    BinaryOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Const,
    DictExpr,
    Expr,
    IterItem,
    Lambda,
    Name,
    Slice,
    Star,
    Subscript,
    TupleExpr,
    Unpacked,
)


def spell(expr: Expr) -> str:
    """Return the expression as a user would write it, shortened if it is long."""
    try:
        text = with_own_stack(_spell, expr)
    except RecursionError:
        return "..."
    return text if len(text) <= 60 else text[:57] + "..."


def _spell(expr: Expr) -> str:
    match expr:
        case Const(value):
            return "..." if value is Ellipsis else repr(value)
        case Name(name):
            return name
        case Attr(base, name):
            return f"{_operand(base)}.{name}"
        case Subscript(base, key):
            inner = _list(key.items) if isinstance(key, TupleExpr) else _spell(key)
            return f"{_operand(base)}[{inner}]"
        case Slice(lower, upper, step):
            tail = f":{_spell(step)}" if step is not None else ""
            return f"{_spell(lower) if lower else ''}:{_spell(upper) if upper else ''}{tail}"
        case Call(func, args, keywords):
            named = [f"{name}={_spell(value)}" if name else f"**{_spell(value)}" for name, value in keywords]
            return f"{_operand(func)}({', '.join([_spell(arg) for arg in args] + named)})"
        case Unpacked(TupleExpr(items), int(position), _, False) if not any(isinstance(item, Star) for item in items):
            return _spell(items[position]) if -len(items) <= position < len(items) else "..."
        case BinaryOp(op, (operand,)):
            return f"{op}{_operand(operand)}"
        case BinaryOp(op, operands):
            return f" {op} ".join(_operand(operand) for operand in operands)
        case Compare("not", (operand,)):
            return f"not {_operand(operand)}"
        case Compare(op, operands):
            return f" {op} ".join(_operand(operand) for operand in operands)
        case Conditional(None, options, operator):
            return f" {operator} ".join(_operand(option) for option in options)
        case Conditional(test, (then, other)) if test is not None:
            return f"{_spell(then)} if {_spell(test)} else {_spell(other)}"
        case TupleExpr(items):
            return f"({_list(items)}{',' if len(items) == 1 else ''})"
        case Star(value):
            return f"*{_operand(value)}"
        case DictExpr():
            return "{...}"
        case Lambda(params, body):
            return f"lambda {', '.join(params)}: {_spell(body)}"
        case Comprehension(element, (loop, *_)):
            return f"{_spell(element)} for {', '.join(loop.names)} in {_spell(loop.source)}"
        case Unpacked(TupleExpr((Star(value), *_)), position, size, _) if (
            position is not None and 0 <= position < size - 1
        ):
            return f"{_operand(value)}[{position}]"
        case Unpacked(value, position, _, _):
            return _spell(value) if position is None else f"{_operand(value)}[{position}]"
        case IterItem(source):
            return f"an item of {_spell(source)}"
        case _:
            return "..."


def _operand(expr: Expr) -> str:
    text = _spell(expr)
    return f"({text})" if isinstance(expr, BinaryOp | Compare | Conditional | Lambda | Comprehension) else text


def _list(items: tuple[Expr, ...]) -> str:
    return ", ".join(_spell(item) for item in items)

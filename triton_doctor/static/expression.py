"""Expressions as plain values: what of Python's syntax decides how often a value changes, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from types import EllipsisType


class Const(NamedTuple):
    """A literal: a number, a string, a truth value, None, or `...`."""

    value: int | float | complex | str | bytes | bool | EllipsisType | None


class Name(NamedTuple):
    """A variable."""

    id: str


class Attr(NamedTuple):
    """`base.name`."""

    base: Expr
    name: str


class Item(NamedTuple):
    """`base[key]`."""

    base: Expr
    key: Expr


class Slice(NamedTuple):
    """`lower:upper:step` in an index; what is left out is None."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None


class Call(NamedTuple):
    """`func(*args, **keywords)`; a keyword without a name is `**mapping`."""

    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[tuple[str | None, Expr], ...]


class Apply(NamedTuple):
    """An arithmetic operator, spelled as in Python, on one or two operands."""

    op: str
    operands: tuple[Expr, ...]


class Truth(NamedTuple):
    """A comparison, membership or negation: true or false, whatever `operands` are."""

    op: str
    operands: tuple[Expr, ...]


class Choice(NamedTuple):
    """One of `options`: a conditional expression (`test` given), or `and` and `or` (`test` None)."""

    test: Expr | None
    options: tuple[Expr, ...]


class Pack(NamedTuple):
    """A tuple, list or set display."""

    items: tuple[Expr, ...]


class Star(NamedTuple):
    """`*value` in a display or a call."""

    value: Expr


class Mapping(NamedTuple):
    """A dict display; an item without a key is `**mapping`."""

    items: tuple[tuple[Expr | None, Expr], ...]


class Lambda(NamedTuple):
    """`lambda params: body`."""

    params: tuple[str, ...]
    body: Expr


class Each(NamedTuple):
    """`[element for names in source]`: a comprehension's first loop; `filtered` where an `if` leaves some out.

    `further` are the sources of the loops inside it, and `filtered_further` says whether an `if` stands there.
    """

    element: Expr
    names: tuple[str, ...]
    source: Expr
    filtered: bool
    further: tuple[Expr, ...] = ()
    filtered_further: bool = False


class Part(NamedTuple):
    """What unpacking gives one target: item `position` of `size`, from the end where negative.

    `open` where a starred target makes `size` a lower bound; `position` None is the starred target itself.
    """

    value: Expr
    position: int | None
    size: int
    open: bool


class Element(NamedTuple):
    """What a `for` gives its target: one of the items of `source`."""

    source: Expr


class Opaque(NamedTuple):
    """Syntax that no value is followed through; `what` names it."""

    what: str


Expr: TypeAlias = (
    Const
    | Name
    | Attr
    | Item
    | Slice
    | Call
    | Apply
    | Truth
    | Choice
    | Pack
    | Star
    | Mapping
    | Lambda
    | Each
    | Part
    | Element
    | Opaque
)


def dotted(expr: Expr) -> str | None:
    """`a.b.c` of a name and attributes; None for anything else."""
    names: list[str] = []
    while isinstance(expr, Attr):
        names.append(expr.name)
        expr = expr.base
    if not isinstance(expr, Name):
        return None
    names.append(expr.id)
    return ".".join(reversed(names))


def spell(expr: Expr) -> str:
    """The expression as a user would write it, shortened where it is long."""
    try:
        text = _spell(expr)
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
        case Item(base, key):
            inner = _list(key.items) if isinstance(key, Pack) else _spell(key)
            return f"{_operand(base)}[{inner}]"
        case Slice(lower, upper, step):
            tail = f":{_spell(step)}" if step is not None else ""
            return f"{_spell(lower) if lower else ''}:{_spell(upper) if upper else ''}{tail}"
        case Call(func, args, keywords):
            named = [f"{name}={_spell(value)}" if name else f"**{_spell(value)}" for name, value in keywords]
            return f"{_operand(func)}({', '.join([_spell(arg) for arg in args] + named)})"
        case Part(Pack(items), int(position), _, False) if not any(isinstance(item, Star) for item in items):
            return _spell(items[position]) if -len(items) <= position < len(items) else "..."
        case Apply(op, (operand,)):
            return f"{op}{_operand(operand)}"
        case Apply(op, operands):
            return f" {op} ".join(_operand(operand) for operand in operands)
        case Truth("not", (operand,)):
            return f"not {_operand(operand)}"
        case Truth(op, operands):
            return f" {op} ".join(_operand(operand) for operand in operands)
        case Choice(None, options):
            return " or ".join(_operand(option) for option in options)
        case Choice(test, (then, other)) if test is not None:
            return f"{_spell(then)} if {_spell(test)} else {_spell(other)}"
        case Pack(items):
            return f"({_list(items)}{',' if len(items) == 1 else ''})"
        case Star(value):
            return f"*{_operand(value)}"
        case Mapping():
            return "{...}"
        case Lambda(params, body):
            return f"lambda {', '.join(params)}: {_spell(body)}"
        case Each(element, names, source, _):
            return f"{_spell(element)} for {', '.join(names)} in {_spell(source)}"
        case Part(Pack((Star(value), *_)), position, size, _) if position is not None and 0 <= position < size - 1:
            return f"{_operand(value)}[{position}]"
        case Part(value, position, _, _):
            return _spell(value) if position is None else f"{_operand(value)}[{position}]"
        case Element(source):
            return f"an item of {_spell(source)}"
        case _:
            return "..."


def _operand(expr: Expr) -> str:
    text = _spell(expr)
    return f"({text})" if isinstance(expr, Apply | Truth | Choice | Lambda | Each) else text


def _list(items: tuple[Expr, ...]) -> str:
    return ", ".join(_spell(item) for item in items)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside `expr`."""
    match expr:
        case Attr(base, _) | Star(base) | Part(base, _, _, _) | Element(base):
            return (base,)
        case Item(base, key):
            return (base, key)
        case Slice():
            return tuple(part for part in expr if part is not None)
        case Call(func, args, keywords):
            return (func, *args, *(value for _, value in keywords))
        case Apply(_, operands) | Truth(_, operands) | Pack(operands):
            return operands
        case Choice(test, options):
            return options if test is None else (test, *options)
        case Mapping(items):
            return tuple(part for item in items for part in item if part is not None)
        case Lambda(_, body):
            return (body,)
        case Each(element, _, source, _):
            return (element, source)
        case _:
            return ()

"""Expressions as plain values: the part of Python's syntax that decides how often a value changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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


class Subscript(NamedTuple):
    """`base[key]`."""

    base: Expr
    key: Expr


class Slice(NamedTuple):
    """`lower:upper:step` in an index; an omitted part is None."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None


class Call(NamedTuple):
    """`func(*args, **keywords)`; a keyword without a name is `**mapping`."""

    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[tuple[str | None, Expr], ...]


class BinaryOp(NamedTuple):
    """An arithmetic operator, spelled as in Python, on one or two operands."""

    op: str
    operands: tuple[Expr, ...]


class Compare(NamedTuple):
    """A comparison, membership test or negation: a truth value, whatever `operands` are."""

    op: str
    operands: tuple[Expr, ...]


class Conditional(NamedTuple):
    """One of `options`: a conditional expression (with `test`), or `and` and `or` (with `operator`)."""

    test: Expr | None
    options: tuple[Expr, ...]
    operator: str | None = None


class TupleExpr(NamedTuple):
    """A tuple, list or set display."""

    items: tuple[Expr, ...]


class Star(NamedTuple):
    """`*value` in a display or a call."""

    value: Expr


class DictExpr(NamedTuple):
    """A dict display; an item without a key is `**mapping`."""

    items: tuple[tuple[Expr | None, Expr], ...]


class Lambda(NamedTuple):
    """`lambda params: body`."""

    params: tuple[str, ...]
    body: Expr


class ComprehensionLoop(NamedTuple):
    """`for names in source`; `filtered` if it has an `if`."""

    names: tuple[str, ...]
    source: Expr
    filtered: bool


class Comprehension(NamedTuple):
    """`[element for names in source]`, with its loops, outermost first."""

    element: Expr
    loops: tuple[ComprehensionLoop, ...]


class Unpacked(NamedTuple):
    """One target of an unpacking: item `position` of `size`, counted from the end if negative.

    `open` if a starred target makes `size` a lower bound. `position` None is the starred target itself, which has
    `before` targets in front of it.
    """

    value: Expr
    position: int | None
    size: int
    open: bool
    before: int = 0


class IterItem(NamedTuple):
    """The target of a `for` loop: any item of `source`."""

    source: Expr


class Opaque(NamedTuple):
    """Syntax that is not followed; `what` names it."""

    what: str


Expr: TypeAlias = (
    Const
    | Name
    | Attr
    | Subscript
    | Slice
    | Call
    | BinaryOp
    | Compare
    | Conditional
    | TupleExpr
    | Star
    | DictExpr
    | Lambda
    | Comprehension
    | Unpacked
    | IterItem
    | Opaque
)


def dotted(expr: Expr) -> str | None:
    """Return `a.b.c` for a name with attributes; None for anything else."""
    after = ""
    while type(expr) is Attr:
        after = f".{expr.name}{after}"
        expr = expr.base
    return f"{expr.id}{after}" if type(expr) is Name else None


def final_name(expr: Expr) -> str:
    """Return `c` for `a.b().c` and for `c`; empty for anything else."""
    return expr.name if type(expr) is Attr else expr.id if type(expr) is Name else ""


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the expressions directly inside `expr`."""
    find = _CHILDREN.get(type(expr))
    return find(expr) if find is not None else ()


# A table and not `match`, which tries one class after the other: each expression is walked several times.
_CHILDREN: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
    Attr: lambda expr: (expr.base,),
    Star: lambda expr: (expr.value,),
    Unpacked: lambda expr: (expr.value,),
    IterItem: lambda expr: (expr.source,),
    Subscript: lambda expr: (expr.base, expr.key),
    Slice: lambda expr: tuple(part for part in expr if part is not None),
    Call: lambda expr: (expr.func, *expr.args, *[value for _, value in expr.keywords]),
    BinaryOp: lambda expr: expr.operands,
    Compare: lambda expr: expr.operands,
    TupleExpr: lambda expr: expr.items,
    Conditional: lambda expr: expr.options if expr.test is None else (expr.test, *expr.options),
    DictExpr: lambda expr: tuple(part for item in expr.items for part in item if part is not None),
    Lambda: lambda expr: (expr.body,),
    Comprehension: lambda expr: (expr.element, *[loop.source for loop in expr.loops]),
}


def every_part(*exprs: Expr) -> Iterator[Expr]:
    """Yield each of `exprs` and everything in it, in order of the text."""
    pending = [*reversed(exprs)]
    while pending:
        expr = pending.pop()
        yield expr
        pending += reversed(children(expr))

"""Dictionary expressions to the variables that they set: literals, `dict(...)`, `a | b`, copies of an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from triton_doctor.static.environment.python_code.guards import ENVIRONMENTS
from triton_doctor.static.python.ir import (
    Attr,
    BinaryOp,
    Call,
    Comprehension,
    Conditional,
    Const,
    DictExpr,
    Expr,
    Name,
    Opaque,
    TupleExpr,
)
from triton_doctor.static.python.step import Condition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.static.environment.python_code.names import Names

_DEEPEST = 8
_COPIES = frozenset({"dict", "copy.copy", "copy.deepcopy", "collections.OrderedDict", "collections.ChainMap"})
Keyword: TypeAlias = tuple[str | None, Expr]


class DictEntry(NamedTuple):
    """One `key: value`, written at `part`; `conditions` decide whether it is included."""

    key: Expr
    value: Expr
    part: Expr | Keyword
    conditions: tuple[Condition, ...]


def entries(
    expr: Expr, names: Names, conditions: tuple[Condition, ...] = (), depth: int = _DEEPEST
) -> Iterator[DictEntry]:
    """Yield the entries of the dictionary `expr`, in order."""
    if depth == 0:
        return
    inner: Iterable[Expr] = ()
    match expr:
        case DictExpr(items):
            for key, value in items:
                if key is None:
                    yield from entries(value, names, conditions, depth - 1)
                else:
                    yield DictEntry(key, value, key, conditions)
        case TupleExpr(items):
            for item in items:
                match item:
                    case TupleExpr((key, value)):
                        yield DictEntry(key, value, item, conditions)
                    case Const(str(text)) if "=" in text:
                        name, _, rest = text.partition("=")
                        yield DictEntry(Const(name), Const(rest), item, conditions)
        case Conditional(test, (body, orelse)) if test is not None:
            yield from entries(body, names, (*conditions, Condition(test, True)), depth - 1)
            yield from entries(orelse, names, (*conditions, Condition(test, False)), depth - 1)
        case BinaryOp("|", inner) | Conditional(None, inner):
            pass
        case Call(Attr(copied, "copy" | "items")):
            inner = (copied,)
        case Call(func, args, keywords) if names.full_name(func) in _COPIES:
            for keyword in keywords:
                yield from keyword_entries(keyword, names, conditions, depth - 1)
            inner = args
        case Opaque("DictComp", (Comprehension(TupleExpr((Name(key) as named, value)), (loop,)),)):
            for one in loop.source.items if loop.names == (key,) and isinstance(loop.source, TupleExpr) else ():
                yield DictEntry(one, value, named, conditions)
        case Name() | Attr() if (assigned := names.value(expr)) is not None:
            inner = (assigned,)
    for part in inner:
        yield from entries(part, names, conditions, depth - 1)


def keyword_entries(
    keyword: Keyword, names: Names, conditions: tuple[Condition, ...] = (), depth: int = _DEEPEST
) -> Iterator[DictEntry]:
    """Yield the entries of `name=value` or `**mapping` in a call of `dict` or `update`."""
    name, value = keyword
    if name is None:
        yield from entries(value, names, conditions, depth)
    else:
        yield DictEntry(Const(name), value, keyword, conditions)


def is_environment(expr: Expr, names: Names) -> bool:
    """Return whether `expr` is this process's environment itself."""
    return names.full_name(expr) in ENVIRONMENTS


def copies_environment(expr: Expr, names: Names, depth: int = _DEEPEST) -> bool:
    """Return whether `expr` is a new dictionary based on this process's environment, as made for a child process."""
    if depth == 0:
        return False
    copied: Iterable[Expr] = ()
    match expr:
        case DictExpr(items):
            copied = [value for key, value in items if key is None]
        case BinaryOp("|", copied):
            pass
        case Call(Attr(owner, "copy"), ()):
            copied = (owner,)
        case Call(func, args, keywords) if names.full_name(func) in _COPIES:
            copied = args[:1] or [value for name, value in keywords if name is None]
        case Opaque("DictComp", (Comprehension(_, ((_, Call(Attr(owner, _)), _),)),)):
            return is_environment(owner, names)
        case Name() | Attr():
            return any(copies_environment(value, names, depth - 1) for value in names.values(expr) if value is not expr)
    return any(is_environment(one, names) or copies_environment(one, names, depth - 1) for one in copied)

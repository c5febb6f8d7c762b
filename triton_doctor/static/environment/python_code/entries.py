"""A dictionary, as written, to the variables it would set: literals, `dict(...)`, `a | b`, copies of an environment."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.environment.python_code.names import Bindings

_DEEPEST = 8
_COPIES = frozenset({"dict", "copy.copy", "copy.deepcopy", "collections.OrderedDict", "collections.ChainMap"})


class DictEntry(NamedTuple):
    """One `key: value`; `tests` are the conditions, each with the outcome, under which it is there."""

    key: ast.expr
    value: ast.expr
    node: ast.expr | ast.keyword
    tests: tuple[tuple[ast.expr, bool], ...]


def entries(
    expr: ast.expr, names: Bindings, tests: tuple[tuple[ast.expr, bool], ...] = (), depth: int = _DEEPEST
) -> Iterator[DictEntry]:
    """What `expr` would set, in order."""
    if depth == 0:
        return
    match expr:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if key is None:
                    yield from entries(value, names, tests, depth - 1)
                else:
                    yield DictEntry(key, value, key, tests)
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            for element in elements:
                match element:
                    case ast.Tuple(elts=[key, value]) | ast.List(elts=[key, value]):
                        yield DictEntry(key, value, element, tests)
                    case ast.Constant(value=str(text)) if "=" in text:
                        name, _, rest = text.partition("=")
                        yield DictEntry(ast.Constant(name), ast.Constant(rest), element, tests)
                    case _:
                        pass
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from entries(left, names, tests, depth - 1)
            yield from entries(right, names, tests, depth - 1)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield from entries(body, names, (*tests, (test, True)), depth - 1)
            yield from entries(orelse, names, (*tests, (test, False)), depth - 1)
        case ast.BoolOp(values=values):
            for value in values:
                yield from entries(value, names, tests, depth - 1)
        case ast.Call(func=ast.Attribute(value=inner, attr="copy" | "items")):
            yield from entries(inner, names, tests, depth - 1)
        case ast.Call(func=func, args=args, keywords=keywords) if names.full_name(func) in _COPIES:
            for argument in args:
                yield from entries(argument, names, tests, depth - 1)
            for keyword in keywords:
                yield from keyword_entries(keyword, names, tests, depth - 1)
        case ast.DictComp(
            key=ast.Name(id=key_name) as key,
            value=value,
            generators=[ast.comprehension(target=ast.Name(id=bound), iter=ast.List(elts=keys) | ast.Tuple(elts=keys))],
        ) if key_name == bound:
            for one in keys:
                yield DictEntry(one, value, key, tests)
        case ast.Name() | ast.Attribute() if (assigned := names.value(expr)) is not None:
            yield from entries(assigned, names, tests, depth - 1)
        case _:
            return


def keyword_entries(
    keyword: ast.keyword, names: Bindings, tests: tuple[tuple[ast.expr, bool], ...] = (), depth: int = _DEEPEST
) -> Iterator[DictEntry]:
    """What `name=value` or `**mapping` in a call of `dict` or `update` would set."""
    if keyword.arg is None:
        yield from entries(keyword.value, names, tests, depth)
    else:
        yield DictEntry(ast.Constant(keyword.arg), keyword.value, keyword, tests)


def is_environment(expr: ast.expr, names: Bindings) -> bool:
    """Whether `expr` is this process's environment itself."""
    return names.full_name(expr) in {"os.environ", "os.environb", "environ"}


def copies_environment(expr: ast.expr, names: Bindings, depth: int = _DEEPEST) -> bool:
    """Whether `expr` is a new dictionary that holds this process's environment: what a child process is given."""
    if depth == 0:
        return False
    match expr:
        case ast.Dict(keys=keys, values=values):
            spread = (value for key, value in zip(keys, values, strict=True) if key is None)
            return any(is_environment(value, names) or copies_environment(value, names, depth - 1) for value in spread)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return any(
                is_environment(side, names) or copies_environment(side, names, depth - 1) for side in (left, right)
            )
        case ast.Call(func=ast.Attribute(value=inner, attr="copy"), args=[]):
            return is_environment(inner, names) or copies_environment(inner, names, depth - 1)
        case ast.Call(func=func, args=[inner, *_]) if names.full_name(func) in _COPIES:
            return is_environment(inner, names) or copies_environment(inner, names, depth - 1)
        case ast.Call(func=func, keywords=keywords) if names.full_name(func) in _COPIES:
            return any(k.arg is None and is_environment(k.value, names) for k in keywords)
        case ast.DictComp(generators=[ast.comprehension(iter=ast.Call(func=ast.Attribute(value=inner)))]):
            return is_environment(inner, names)
        case ast.Name() | ast.Attribute():
            return any(copies_environment(value, names, depth - 1) for value in names.values(expr) if value is not expr)
        case _:
            return False

"""Walks over the parts of syntax that a kernel computes with; takes half the time of `ast.walk`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from triton_doctor.static.python.lower import lower_alone
from triton_doctor.static.python.module import Arange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.static.sources.source_text import SourceText

# Fields that hold no used value, such as annotations, or no node, such as names and flags.
_PASSED_OVER = frozenset(
    "ctx op ops annotation returns id attr arg type_comment name simple conversion is_async".split()
)


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields to visit, by kind of node; empty for other kinds."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        return ()


FIELDS = _Fields({
    kind: tuple(
        name for name in kind._fields if name not in _PASSED_OVER and (kind, name) != (ast.Lambda, "args")
    )
    for kind in (
        ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.If, ast.For, ast.While, ast.Return, ast.Assert,
        ast.With, ast.withitem, ast.Call, ast.keyword, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp,
        ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Set, ast.Attribute, ast.Starred, ast.JoinedStr,
        ast.FormattedValue, ast.ListComp, ast.GeneratorExp, ast.comprehension, ast.Lambda, ast.NamedExpr, ast.Dict,
        ast.Try, ast.ExceptHandler, ast.Raise, ast.Delete, ast.Match, ast.match_case,
    )
})  # fmt: skip
_LEAVES = frozenset({ast.Name, ast.Constant})
# Functions from numbers to a number. The result is known at compile time if the arguments are.
ARITHMETIC = frozenset({"cdiv", "next_power_of_2", "min", "max", "constexpr", "int", "abs", "minimum", "maximum"})


def parts(node: ast.AST) -> list[ast.AST]:
    """Return `node` and every computed part of it, in no particular order."""
    found: list[ast.AST] = []
    pending: list[ast.AST | None] = [node]
    while pending:
        part = pending.pop()
        if part is None:
            continue
        found.append(part)
        kind = type(part)
        if kind in _LEAVES:
            continue
        if kind not in FIELDS:
            pending += ast.iter_child_nodes(part)
            continue
        for name in FIELDS[kind]:
            child = getattr(part, name)
            if type(child) is list:
                pending += child
            else:
                pending.append(child)
    return found


def names_in(node: ast.AST) -> list[str]:
    """Return the variables in `node`, in no particular order, with repetitions."""
    return [node.id] if type(node) is ast.Name else names_in_all([node])


def names_in_all(nodes: Iterable[ast.AST]) -> list[str]:
    """Return the variables in `nodes`, in no particular order, with repetitions."""
    found: list[str] = []
    pending = list(nodes)
    while pending:
        part = pending.pop()
        kind = type(part)
        if kind is ast.Name:
            found.append(part.id)  # type: ignore[attr-defined]
        elif kind is not ast.Constant:
            for name in FIELDS[kind]:
                child = getattr(part, name)
                if type(child) is list:
                    pending += child
                elif child is not None:
                    pending.append(child)
    return found


def callee_name(call: ast.Call) -> str | None:
    """Return the last name of the function that `call` calls; None if it has none."""
    func = call.func
    if type(func) is ast.Name:
        return func.id
    return func.attr if type(func) is ast.Attribute else None


def operand_names(value: ast.AST) -> list[str]:
    """Return the names that `value` is computed from by arithmetic; empty if it calls another function."""
    found: list[str] = []
    pending: list[ast.AST] = [value]
    while pending:
        part = pending.pop()
        kind = type(part)
        if kind is ast.Name:
            found.append(part.id)  # type: ignore[attr-defined]
        elif kind is ast.Call:
            if (callee_name(part) or "") not in ARITHMETIC:  # type: ignore[arg-type]
                return []
            pending.extend(part.args)  # type: ignore[attr-defined]
        elif kind is ast.BinOp:
            pending += (part.left, part.right)  # type: ignore[attr-defined]
        elif kind in (ast.Compare, ast.IfExp, ast.UnaryOp, ast.BoolOp, ast.Tuple):
            pending.extend(ast.iter_child_nodes(part))
    return found


def arguments_of(call: ast.Call) -> Iterator[tuple[int | str, ast.expr]]:
    """Yield the arguments of `call`, by position or name."""
    yield from enumerate(call.args)
    yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg is not None)


def is_unrolled(source: ast.expr) -> bool:
    """Return whether a loop over `source` is unrolled at compile time."""
    return type(source) is ast.Call and callee_name(source) == "static_range"


def read_aranges(calls: Iterable[tuple[ast.Call, bool]], source: SourceText) -> Iterator[Arange]:
    """Yield the calls of `arange` that have an end; `calls` says of each call whether it stands in a branch."""
    for call, conditional in calls:
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        given.update(zip(("start", "end"), call.args, strict=False))
        if "start" in given and "end" in given:
            yield Arange(lower_alone(given["start"]), lower_alone(given["end"]), conditional, source.span(call))

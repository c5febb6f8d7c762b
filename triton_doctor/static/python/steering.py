"""A kernel's body to the parameters that only steer it: how far loops run, which rows a program takes.

What Triton knows of an integer, that it is 1 or divisible by 16, tells how addresses and masks lie.
A loop that counts by ones forgets it, so an integer that goes no further has nothing to gain from being specialized.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from triton_doctor.static.python.nodes import callee_name, names_in, names_in_all, parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# The kinds of nodes that bind names, or tell of addresses, masks and values.
_TELLING_KINDS = frozenset({
    ast.Call, ast.Compare, ast.If, ast.While, ast.Return, ast.Subscript, ast.IfExp, ast.Assign, ast.AugAssign,
    ast.AnnAssign, ast.For,
})  # fmt: skip
_NUMBERS_OF_NUMBERS = frozenset({"range", "min", "max", "minimum", "maximum", "cdiv", "to"})


def steering_names(every: Iterable[ast.AST], wanted: frozenset[str]) -> frozenset[str]:
    """Those of `wanted` from which no address, mask or value is made; `every` are all parts of a kernel's body."""
    if not wanted:
        return wanted
    flows, telling = _gathered(every)
    return frozenset(name for name in wanted if _reached(name, flows).isdisjoint(telling))


def _reached(name: str, flows: list[tuple[set[str], set[str]]]) -> set[str]:
    """The names that are made of `name`, itself included."""
    reached, before = {name}, 0
    while len(reached) > before:
        before = len(reached)
        for targets, sources in flows:
            if not sources.isdisjoint(reached):
                reached |= targets
    return reached


def _gathered(every: Iterable[ast.AST]) -> tuple[list[tuple[set[str], set[str]]], set[str]]:
    """Which names are bound to what is made of which; and the names in what tells of addresses, masks and values.

    That is an argument of a call that makes more than numbers of numbers, and a comparison that is no branch's test.
    """
    flows: list[tuple[set[str], set[str]]] = []
    telling: list[ast.AST] = []
    comparisons: list[ast.Compare] = []
    tests: set[int] = set()
    for part in every:
        kind = type(part)
        if kind not in _TELLING_KINDS:
            continue
        if kind is ast.Call:
            telling += _telling(part)  # type: ignore[arg-type]
        elif kind is ast.Compare:
            comparisons.append(part)  # type: ignore[arg-type]
        elif kind in (ast.If, ast.While):
            tests.update(id(inner) for inner in parts(part.test) if type(inner) is ast.Compare)  # type: ignore[attr-defined]
        elif kind in (ast.Return, ast.Subscript, ast.IfExp):
            telling.append(part)
        elif kind is ast.Assign:
            targets = set[str]().union(*(_names(target) for target in part.targets))  # type: ignore[attr-defined]
            flows.append((targets, _names(part.value)))  # type: ignore[attr-defined]
        elif kind in (ast.AugAssign, ast.AnnAssign):
            flows.append((_names(part.target), _names(part.value)))  # type: ignore[attr-defined]
        elif kind is ast.For:
            flows.append((_names(part.target), _names(_beginning(part))))  # type: ignore[attr-defined, arg-type]
    telling += (one for one in comparisons if id(one) not in tests)
    return flows, set(names_in_all(telling))


def _telling(call: ast.Call) -> Iterator[ast.AST]:
    if callee_name(call) not in _NUMBERS_OF_NUMBERS:
        yield from call.args
        yield from (keyword.value for keyword in call.keywords)


def _beginning(loop: ast.For) -> ast.AST | None:
    """What tells of the values that a loop counts: where it begins, and only if it counts by more than one."""
    if not isinstance(loop.iter, ast.Call):
        return loop.iter
    return loop.iter.args[0] if len(loop.iter.args) > 2 else None


def _names(node: ast.AST | None) -> set[str]:
    return set(names_in(node)) if node is not None else set()

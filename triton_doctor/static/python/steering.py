"""Finds parameters that only control a kernel: loop bounds, and which rows a program takes.

Triton uses "is 1" and "is divisible by 16" of an integer for addresses and masks. A loop that counts by one discards
that, so an integer with no other use gains nothing from specialization.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from triton_doctor.static.python.nodes import callee_name, names_in, names_in_all, parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Kinds of nodes that bind names, or that form addresses, masks and values.
_TELLING_KINDS = frozenset({
    ast.Call, ast.Compare, ast.If, ast.While, ast.Return, ast.Subscript, ast.IfExp, ast.Assign, ast.AugAssign,
    ast.AnnAssign, ast.For,
})  # fmt: skip
_NUMBERS_OF_NUMBERS = frozenset({"range", "min", "max", "minimum", "maximum", "cdiv", "to"})


def steering_names(every: Iterable[ast.AST], wanted: frozenset[str]) -> frozenset[str]:
    """Return those of `wanted` that reach no address, mask or value. `every` are all parts of a kernel's body."""
    if not wanted:
        return wanted
    flows, telling = _gathered(every)
    return frozenset(name for name in wanted if _reached(name, flows).isdisjoint(telling))


def _reached(name: str, flows: list[tuple[set[str], set[str]]]) -> set[str]:
    """Return the names computed from `name`, including itself."""
    reached, before = {name}, 0
    while len(reached) > before:
        before = len(reached)
        for targets, sources in flows:
            if not sources.isdisjoint(reached):
                reached |= targets
    return reached


def _gathered(every: Iterable[ast.AST]) -> tuple[list[tuple[set[str], set[str]]], set[str]]:
    """Return the data flow between names, and the names used for addresses, masks and values.

    Those are arguments of calls that are not pure number functions, and comparisons that are not a branch's test.
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
    telling += (comparison for comparison in comparisons if id(comparison) not in tests)
    return flows, set(names_in_all(telling))


def _telling(call: ast.Call) -> Iterator[ast.AST]:
    if callee_name(call) not in _NUMBERS_OF_NUMBERS:
        yield from call.args
        yield from (keyword.value for keyword in call.keywords)


def _beginning(loop: ast.For) -> ast.AST | None:
    """Return the part of a loop's iterable that affects addresses.

    The start of a range that has a step; nothing of a range without; anything else whole.
    """
    if not isinstance(loop.iter, ast.Call):
        return loop.iter
    return loop.iter.args[0] if len(loop.iter.args) > 2 else None


def _names(node: ast.AST | None) -> set[str]:
    return set(names_in(node)) if node is not None else set()

"""A kernel's body to the parameters that only steer it: how far loops run, which rows a program takes.

What Triton knows of an integer, that it is 1 or divisible by 16, tells how addresses and masks lie.
A loop that counts by ones forgets it, so an integer that goes no further has nothing to gain from being specialized.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_NUMBERS_OF_NUMBERS = frozenset({"range", "min", "max", "minimum", "maximum", "cdiv", "to"})


def steering_names(node: ast.FunctionDef, wanted: frozenset[str]) -> frozenset[str]:
    """Those of `wanted` from which no address, no mask and no value of the kernel `node` is made."""
    return frozenset(name for name in wanted if _only_steers(node, name))


def _only_steers(node: ast.FunctionDef, name: str) -> bool:
    reached = {name}
    while True:
        further = {target for target, sources in _flows(node) if sources & reached}
        if further <= reached:
            break
        reached |= further
    return not any(_names(use) & reached for use in _telling_uses(node))


def _flows(node: ast.FunctionDef) -> Iterator[tuple[str, set[str]]]:
    """Each name that is bound, and the names that its value is made of."""
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from ((one, _names(value)) for one in _names(target))
            case ast.AugAssign(target=target, value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                yield from ((one, _names(value)) for one in _names(target))
            case ast.For(target=target, iter=ast.Call(args=[first, _, _, *_])):
                # Only where it begins tells, and only if it counts by more than one.
                yield from ((one, _names(first)) for one in _names(target))
            case ast.For(target=target, iter=source) if not isinstance(source, ast.Call):
                yield from ((one, _names(source)) for one in _names(target))


def _telling_uses(node: ast.FunctionDef) -> Iterator[ast.AST]:
    """Arguments of calls that are more than numbers of numbers, and comparisons that make masks."""
    tests = [part.test for part in ast.walk(node) if isinstance(part, ast.If | ast.While)]
    in_tests = {id(inner) for test in tests for inner in ast.walk(test)}
    for part in ast.walk(node):
        match part:
            case ast.Call(func=func, args=args, keywords=keywords):
                callee = func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
                if callee not in _NUMBERS_OF_NUMBERS:
                    yield from args
                    yield from (keyword.value for keyword in keywords)
            case ast.Compare() if id(part) not in in_tests:
                yield part
            case ast.Return() | ast.Subscript() | ast.IfExp():
                yield part


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}

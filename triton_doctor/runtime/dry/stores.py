"""Which parameters of a kernel it writes through: what a launch leaves of the values of its arguments."""

from __future__ import annotations

import ast
import builtins
import textwrap
from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 8


def find_written(fn: Any, depth: int = 0) -> frozenset[str]:
    """Return the parameters of the JITFunction `fn` through which it, or a function it calls, writes memory.

    Returns all parameters if the source cannot be read.
    """
    try:
        source = textwrap.dedent(fn.src)
        function = next(node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
        parameters = {argument.arg for argument in function.args.args + function.args.kwonlyargs}
        return _AddressFlow(function, fn, depth).written() & frozenset(parameters)
    except Exception:
        return frozenset(fn.arg_names)


class _AddressFlow:
    """Maps each name in a kernel to the names it is computed from, to find the origin of addresses."""

    def __init__(self, function: ast.FunctionDef, fn: Any, depth: int) -> None:
        self._function, self._fn, self._depth = function, fn, depth
        self._sources: defaultdict[str, set[str]] = defaultdict(set)
        self._stored: set[str] = set()

    def written(self) -> frozenset[str]:
        for node in ast.walk(self._function):
            match node:
                case ast.Assign(targets=targets, value=value):
                    self._assign(targets, value)
                case (
                    ast.AugAssign(target=target, value=value) | ast.AnnAssign(target=target, value=ast.expr() as value)
                ):
                    self._assign([target], value)
                case ast.Call():
                    self._stored.update(self._stores(node))
        todo = list(self._stored)
        while todo:
            for name in self._sources[todo.pop()] - self._stored:
                self._stored.add(name)
                todo.append(name)
        return frozenset(self._stored)

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> None:
        names = set(_address_names(value))
        for target in targets:
            for node in ast.walk(target):
                if isinstance(node, ast.Name):
                    self._sources[node.id] |= names

    def _stores(self, call: ast.Call) -> Iterator[str]:
        """Yield the names in the address expressions that `call` writes to."""
        called = ast.unparse(call.func)
        last = called.rpartition(".")[2]
        if "store" in last or last.startswith("atomic"):
            for argument in call.args[:1]:
                yield from _address_names(argument)
            # A method of a descriptor or a block pointer.
            if isinstance(call.func, ast.Attribute):
                yield from _address_names(call.func.value)
            return
        callee = self._callee(called)
        if callee is not None:
            written = find_written(callee, self._depth + 1)
            given = [*zip(callee.arg_names, call.args, strict=False)]
            given += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
            for name, value in given:
                if name in written:
                    yield from _address_names(value)

    def _callee(self, called: str) -> Any:
        """Return the JITFunction that `called` names; None for other callables or at the depth limit."""
        if self._depth >= DEEPEST or hasattr(builtins, called):
            return None
        value: Any = None
        first, *rest = called.split(".")
        value = getattr(self._fn.fn, "__globals__", {}).get(first)
        for name in rest:
            value = getattr(value, name, None)
        return value if hasattr(value, "arg_names") and hasattr(value, "src") else None


def _address_names(node: ast.AST) -> Iterator[str]:
    """Yield the names an address expression uses, except inside loads, whose results are data."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "load":
        return
    if isinstance(node, ast.Name):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from _address_names(child)

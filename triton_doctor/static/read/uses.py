"""What a kernel's body does with its parameters: needs them while it compiles, reads them, or neither."""

from __future__ import annotations

import ast
from typing import NamedTuple

# Arguments of these must be known while compiling: they are block shapes, unrolled bounds, or types.
_NEEDS_ALL = frozenset({"arange", "static_range", "static_assert", "static_print"})
_NEEDS_SHAPE: dict[str, tuple[int, str]] = {
    "zeros": (0, "shape"),
    "full": (0, "shape"),
    "empty": (0, "shape"),
    "reshape": (1, "shape"),
    "view": (1, "shape"),
    "broadcast_to": (1, "shape"),
    "make_block_ptr": (4, "block_shape"),
    "advance": (9, "none"),
    "make_tensor_descriptor": (3, "block_shape"),
    "rand": (9, "none"),
    "topk": (1, "k"),
}


class Uses(NamedTuple):
    """Names of parameters, by what is done with them; `passes` as in `Kernel`."""

    needed: frozenset[str]
    read: frozenset[str]
    walked: frozenset[str]
    passes: tuple[tuple[str, int | str, str], ...]


def read_uses(node: ast.FunctionDef, params: frozenset[str]) -> Uses:
    """How the body of `node` uses `params`; a local that is computed from a parameter stands for it."""
    return _Uses(params).of(node)


class _Uses:
    def __init__(self, params: frozenset[str]) -> None:
        self._params = params
        self._from: dict[str, frozenset[str]] = {name: frozenset({name}) for name in params}
        self._needed: set[str] = set()
        self._read: set[str] = set()
        self._walked: set[str] = set()
        self._passes: list[tuple[str, int | str, str]] = []

    def of(self, node: ast.FunctionDef) -> Uses:
        calls: list[ast.Call] = []
        tests: list[ast.expr] = []
        stack: list[ast.AST] = list(reversed(node.body))
        while stack:
            current = stack.pop()
            kind = type(current)
            if kind is ast.Name:
                if current.id in self._params:  # type: ignore[attr-defined]
                    self._read.add(current.id)  # type: ignore[attr-defined]
                continue
            if kind is ast.Call:
                calls.append(current)  # type: ignore[arg-type]
            elif kind is ast.If or kind is ast.IfExp:
                tests.append(current.test)  # type: ignore[attr-defined]
            elif kind is ast.Assign or kind is ast.AnnAssign:
                self._derive(current)  # type: ignore[arg-type]
            stack.extend(reversed([child for child in ast.iter_child_nodes(current) if type(child) not in _LEAVES]))
        for test in tests:
            self._needed |= self._names(test)
        for call in calls:
            self._call(call)
        return Uses(frozenset(self._needed), frozenset(self._read), frozenset(self._walked), tuple(self._passes))

    def _derive(self, node: ast.Assign | ast.AnnAssign) -> None:
        """A local made by arithmetic alone from parameters, and not from what is loaded."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is None or len(targets) != 1 or not isinstance(targets[0], ast.Name):
            return
        target = targets[0].id
        if any(isinstance(part, ast.Call) and _callee(part) not in _ARITHMETIC for part in ast.walk(node.value)):
            return
        sources = self._names(node.value)
        if sources and target not in self._params:
            self._from[target] = self._from.get(target, frozenset()) | sources

    def _names(self, *nodes: ast.AST) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for node in nodes:
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and part.id in self._from:
                    found |= self._from[part.id]
        return found

    def _call(self, call: ast.Call) -> None:
        callee = _callee(call)
        if callee is None:
            return
        if callee in _NEEDS_ALL:
            self._needed |= self._names(*call.args, *(keyword.value for keyword in call.keywords))
        elif callee in _NEEDS_SHAPE:
            position, name = _NEEDS_SHAPE[callee]
            shape = call.args[position : position + 1] + [k.value for k in call.keywords if k.arg == name]
            if isinstance(call.func, ast.Attribute) and callee in ("reshape", "view", "broadcast_to"):
                shape = list(call.args)
            self._needed |= self._names(*shape)
        elif callee == "range":
            step = call.args[2] if len(call.args) > 2 else None
            if step is not None:
                self._walked |= self._names(call.args[1]) - self._names(step)
        for keyword in call.keywords:
            if keyword.arg in ("dtype", "num_stages", "warp_specialize", "axis", "block_shape"):
                self._needed |= self._names(keyword.value)
        if callee == "to" and call.args:
            self._needed |= self._names(call.args[0])
        self._pass(callee, call)

    def _pass(self, callee: str, call: ast.Call) -> None:
        if isinstance(call.func, ast.Name):
            for position, arg in enumerate(call.args):
                self._passes.extend((callee, position, name) for name in sorted(self._names(arg)))
            for keyword in call.keywords:
                if keyword.arg is not None:
                    self._passes.extend((callee, keyword.arg, name) for name in sorted(self._names(keyword.value)))


_LEAVES = frozenset({ast.Load, ast.Store, ast.Del, ast.Constant, ast.Add, ast.Sub, ast.Mult, ast.Lt, ast.Gt})
_ARITHMETIC = frozenset({"cdiv", "next_power_of_2", "min", "max", "constexpr", "int", "abs", "minimum", "maximum"})


def _callee(call: ast.Call) -> str | None:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return None

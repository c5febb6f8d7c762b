"""What a name of a Python file stands for, as far as environment settings care."""

from __future__ import annotations

import ast
from functools import cache, partial
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Scope: TypeAlias = ast.Module | _Function
# What holds statements, and where, the last first.
_BLOCKS: dict[type[ast.AST], tuple[str, ...]] = {
    kind: tuple(name for name in ("finalbody", "orelse", "handlers", "cases", "body") if name in kind._fields)
    for kind in (
        *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.AsyncFor, ast.While, ast.With),
        *(ast.AsyncWith, ast.Try, ast.TryStar, ast.ExceptHandler, ast.Match, ast.match_case),
    )
}


class Bindings:
    """The imports and assignments that a function sees: its own, then the module's."""

    def __init__(self, tree: ast.Module) -> None:
        """Reads the module's own level, classes included; functions are entered by `within`."""
        self._imported: dict[str, str] = {}
        self._assigned: list[Callable[[], Mapping[str, list[ast.expr]]]] = [cache(partial(_assignments, tree))]
        self._params: frozenset[str] = frozenset()
        for statement in _every_statement(tree.body):
            self._import(statement)

    def within(self, function: _Function) -> Bindings:
        """The names seen inside `function`."""
        inner = object.__new__(Bindings)
        inner._imported = self._imported
        params = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        params += [arg for arg in (function.args.vararg, function.args.kwarg) if arg is not None]
        inner._params = self._params | {param.arg for param in params}
        inner._assigned = [cache(partial(_assignments, function)), *self._assigned]
        return inner

    def bound(self, values: Mapping[str, ast.expr]) -> Bindings:
        """These names, where a loop gives `values`."""
        inner = object.__new__(Bindings)
        inner._imported = self._imported
        inner._params = self._params - set(values)
        given = {name: [value] for name, value in values.items()}
        inner._assigned = [lambda: given, *self._assigned]
        return inner

    def is_param(self, name: str) -> bool:
        """Whether a caller gives `name` its value."""
        return name in self._params

    def values(self, expr: ast.expr) -> list[ast.expr]:
        """What was assigned to the name `expr`, or to a field of a class; empty where that is unknown."""
        if not isinstance(expr, ast.Name | ast.Attribute) or (name := _dotted(expr)) is None:
            return []
        *own, module = self._assigned
        for scope in own:
            if name in (assigned := scope()):
                return assigned[name]
        return [] if name.partition(".")[0] in self._params else module().get(name, [])

    def value(self, expr: ast.expr) -> ast.expr | None:
        """The one expression that `expr` stands for; None where there are several, or none."""
        values = self.values(expr)
        return values[0] if len(values) == 1 and values[0] is not expr else None

    def full_name(self, expr: ast.expr, depth: int = 4) -> str | None:
        """`triton.knobs.runtime` of whatever it was imported or assigned as; None if not dotted."""
        if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and expr.func.id == "__import__":
            first = expr.args[0] if expr.args else None
            return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
        name = _dotted(expr)
        if name is None:
            if isinstance(expr, ast.Attribute) and (base := self.full_name(expr.value, depth)):
                return f"{base}.{expr.attr}"
            return None
        top, _, rest = name.partition(".")
        if top in self._imported:
            return ".".join(filter(None, (self._imported[top], rest)))
        if depth and isinstance(expr, ast.Name | ast.Attribute):
            root = expr
            while isinstance(root, ast.Attribute):
                root = root.value  # type: ignore[assignment]
            value = self.value(root)
            if value is not None and isinstance(value, ast.Name | ast.Attribute | ast.Call):
                base = self.full_name(value, depth - 1)
                if base is not None:
                    return ".".join(filter(None, (base, rest)))
        return name

    def _import(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name if alias.asname else alias.name.partition(".")[0]
                self._imported.setdefault(alias.asname or top, top)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                self._imported.setdefault(alias.asname or alias.name, f"{node.module}.{alias.name}")


def _every_statement(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements at and below `body`, those of functions and classes too, but no expressions."""
    pending: list[ast.AST] = list(reversed(body))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt):
            yield node
        for name in _BLOCKS.get(type(node), ()):
            pending.extend(reversed(getattr(node, name)))


def _dotted(expr: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(expr, ast.Attribute):
        parts.append(expr.attr)
        expr = expr.value
    if not isinstance(expr, ast.Name):
        return None
    return ".".join([expr.id, *reversed(parts)])


def _assignments(scope: _Scope) -> dict[str, list[ast.expr]]:
    """Every `name = value` of a scope, and `Class.name` of the classes in it; a name that is changed some other way
    (a loop, an augmented assignment) has an unknown value beside it."""
    found: dict[str, list[ast.expr]] = {}
    for prefix, statement in _statements(scope):
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    _bind(found, prefix, target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                _bind(found, prefix, target, value)
            case ast.AugAssign(target=ast.Name(id=name)):
                found.setdefault(prefix + name, []).append(ast.Name(id="?", ctx=ast.Load()))
            case ast.With(items=items) | ast.AsyncWith(items=items):
                for item in items:
                    if item.optional_vars is not None:
                        _bind(found, prefix, item.optional_vars, item.context_expr)
            case ast.For(target=target) | ast.AsyncFor(target=target):
                _bind(found, prefix, target, ast.Name(id="?", ctx=ast.Load()))
            case _:
                pass
    return found


def _bind(found: dict[str, list[ast.expr]], prefix: str, target: ast.expr, value: ast.expr) -> None:
    match target, value:
        case ast.Name(id=name), _:
            found.setdefault(prefix + name, []).append(value)
        case ast.Tuple(elts=targets) | ast.List(elts=targets), ast.Tuple(elts=values) | ast.List(elts=values) if len(
            targets
        ) == len(values):
            for one, its in zip(targets, values, strict=True):
                _bind(found, prefix, one, its)
        case ast.Tuple(elts=targets) | ast.List(elts=targets), _:
            for one in targets:
                _bind(found, prefix, one, ast.Name(id="?", ctx=ast.Load()))
        case ast.Attribute(value=ast.Name(id="self"), attr=name), _:
            found.setdefault(f"self.{name}", []).append(value)
        case _:
            pass


def _statements(scope: _Scope) -> Iterator[tuple[str, ast.stmt]]:
    if isinstance(scope, ast.Lambda):
        return
    pending: list[tuple[str, ast.AST]] = [("", statement) for statement in reversed(scope.body)]
    while pending:
        prefix, node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.stmt):
            yield prefix, node
        inner = f"{prefix}{node.name}." if isinstance(node, ast.ClassDef) else prefix
        for name in _BLOCKS.get(type(node), ()):
            pending.extend((inner, child) for child in reversed(getattr(node, name)))

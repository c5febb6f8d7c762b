"""The meaning of names in a program: imports and assignments, and whether a condition holds in an ordinary run."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.static.python.imports import Imports

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
# `except` clauses and the cases of `match` are tests too.
Test: TypeAlias = ast.expr | ast.excepthandler | ast.match_case

ENVIRONMENTS = frozenset({"os.environ", "os.environb", "environ"})
READERS = frozenset({"os.environ.get", "os.getenv", "environ.get", "getenv"})
# Stands for a value that is not known, such as the target of a loop.
UNKNOWN = ast.Yield()
_GPU_PRESENT = frozenset({"torch.cuda.is_available", "torch.xpu.is_available", "torch.version.cuda"})
_VERSIONS = frozenset({"__version__", "version_info"})
_DEEPEST = 6


class Condition(NamedTuple):
    """`test` has that `outcome`."""

    test: Test
    outcome: bool


class Scope:
    """A function, or the top level of a module with its class bodies. `values` is all that it assigns to each name.

    Names are dotted: `self.x` in a method, `Class.X` for the body of a class.
    """

    def __init__(self, node: ast.Module | Definition, outer: Scope | None) -> None:
        """Read the assignments of `node`, without those of nested functions."""
        self.outer = outer
        self.node = node
        self.name = None if isinstance(node, ast.Module) else node.name
        self.params = frozenset[str]()
        if not isinstance(node, ast.Module):
            self.params = frozenset(arg.arg for arg in ast.iter_child_nodes(node.args) if isinstance(arg, ast.arg))
        self.values: dict[str, list[ast.expr]] = {}
        self._read(node.body, "")

    def around(self) -> Iterator[Scope]:
        """Yield this function and those around it, without the module."""
        scope = self
        while scope.outer is not None:
            yield scope
            scope = scope.outer

    def _read(self, statements: Sequence[ast.stmt], prefix: str) -> None:
        for node in statements:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    continue
                case ast.ClassDef():
                    self._read(node.body, f"{prefix}{node.name}.")
                    continue
                case ast.Assign(targets, value):
                    for target in targets:
                        self._bind(target, value, prefix)
                case ast.AnnAssign(target, _, ast.expr() as value):
                    self._bind(target, value, prefix)
                case ast.AugAssign(target) | ast.For(target) | ast.AsyncFor(target):
                    self._bind(target, UNKNOWN, prefix)
                case ast.With(items) | ast.AsyncWith(items):
                    for item in items:
                        if item.optional_vars is not None:
                            self._bind(item.optional_vars, item.context_expr, prefix)
            for block in blocks_of(node):
                self._read(block, prefix)

    def _bind(self, target: ast.expr, value: ast.expr, prefix: str) -> None:
        for part, its in pairs_of(target, value):
            name = dotted(part)
            if name is not None and (isinstance(part, ast.Name) or name.startswith("self.")):
                self.values.setdefault(prefix + name, []).append(its)


class Names:
    """The names visible in `scope`: its own, those of enclosing functions, then the module's."""

    def __init__(self, scope: Scope, imports: Imports, given: Mapping[str, ast.expr] | None = None) -> None:
        """`given` are the values of loop targets."""
        self.scope = scope
        self._imports = imports
        self.given = given or {}

    def bound(self, given: Mapping[str, ast.expr]) -> Names:
        """Return these names with further loop targets `given`."""
        return Names(self.scope, self._imports, {**self.given, **given})

    def inside(self, scope: Scope) -> Names:
        """Return the names visible in the nested function `scope`."""
        return Names(scope, self._imports, self.given)

    def is_param(self, name: str) -> bool:
        """Return whether `name` is a parameter."""
        return name not in self.given and any(name in scope.params for scope in self.scope.around())

    def values(self, expr: ast.expr) -> Sequence[ast.expr]:
        """Return everything assigned to the name `expr` or to a field of a class; empty if unknown."""
        name = dotted(expr)
        if name is None:
            return ()
        if name in self.given:
            return (self.given[name],)
        module = self.scope
        for scope in self.scope.around():
            if name in scope.values:
                return scope.values[name]
            module = scope.outer or scope
        return () if self.is_param(name.partition(".")[0]) else module.values.get(name, ())

    def value(self, expr: ast.expr) -> ast.expr | None:
        """Return the only expression that the name `expr` stands for; None if there are several or none."""
        values = self.values(expr)
        return values[0] if len(values) == 1 and values[0] is not expr else None

    def full_name(self, expr: ast.expr, depth: int = 4) -> str | None:
        """Return `triton.knobs.runtime` whatever name it was imported or assigned as; None if not dotted."""
        match expr:
            case ast.Call(ast.Name("__import__"), [ast.Constant(str(module)), *_]):
                return module
            case ast.Name(name):
                imported = self._imports.names.get(name)
                if imported is not None and not imported.level:
                    return self._imports.expand(name)
                value = self.value(expr) if depth else None
                known = (
                    self.full_name(value, depth - 1) if isinstance(value, ast.Name | ast.Attribute | ast.Call) else None
                )
                return known or name
            case ast.Attribute(base, name):
                owner = self.full_name(base, depth)
                return f"{owner}.{name}" if owner else None
            case _:
                return None

    def is_environment(self, expr: ast.expr) -> bool:
        """Return whether `expr` is this process's environment itself."""
        return self.full_name(expr) in ENVIRONMENTS


def dotted(expr: ast.expr) -> str | None:
    """Return `a.b.c` for a name or a chain of attributes of one; None for anything else."""
    match expr:
        case ast.Name(name):
            return name
        case ast.Attribute(base, name):
            owner = dotted(base)
            return f"{owner}.{name}" if owner is not None else None
        case _:
            return None


def pairs_of(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each part that `target = value` assigns to, with its value; UNKNOWN if it is not spelled out."""
    match target, value:
        case ast.Tuple(targets) | ast.List(targets), _:
            match value:
                case ast.Tuple(values) | ast.List(values) if len(values) == len(targets):
                    given = values
                case _:
                    given = [UNKNOWN] * len(targets)
            for part, its in zip(targets, given, strict=True):
                yield from pairs_of(part, its)
        case ast.Starred(part), _:
            yield part, UNKNOWN
        case _:
            yield target, value


def blocks_of(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of statements in `node`, which is no definition."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, [])
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def holds(
    test: ast.expr | ast.excepthandler | ast.match_case,
    names: Names,
    variable: str | None = None,
    depth: int = _DEEPEST,
) -> bool | None:
    """Return True if `test` holds in an ordinary run, False if it does not, None if a switch decides.

    In an ordinary run the file runs as a program on a machine with a GPU, and `variable`, which is about to be set, is
    unset.
    """
    if depth == 0:
        return None
    match test:
        case ast.Constant(value):
            return bool(value)
        case ast.UnaryOp(ast.Not(), operand):
            # A missing GPU is not treated as impossible: it is the usual switch to interpreter mode.
            if _tests_for_gpu(names.value(operand) or operand, names):
                return None
            truth = holds(operand, names, variable, depth - 1)
            return None if truth is None else not truth
        case ast.BoolOp(operator, options):
            # `and` is false if one option is, `or` true if one option is.
            truths = {holds(option, names, variable, depth - 1) for option in options}
            decisive = isinstance(operator, ast.Or)
            return decisive if decisive in truths else None if None in truths else not decisive
        case ast.Compare(left, [operator], [right]):
            return _compared(left, operator, right, names, variable)
        case ast.Name("TYPE_CHECKING") | ast.Attribute(_, "TYPE_CHECKING"):
            return False
        case ast.Name() | ast.Attribute() if (assigned := names.value(test)) is not None:
            return holds(assigned, names, variable, depth - 1)
        case ast.ExceptHandler(ast.Name("KeyError")):
            return True
        case ast.expr() if (read := _variable_read(test, names)) is not None:
            return False if read == variable else None
        case ast.expr():
            return True if _tests_for_gpu(test, names) else None
        case _:
            return None


def is_switch(test: ast.expr) -> bool:
    """Return whether `test` is only a flag: names, attributes, `not`, `and`, `or`, and reads of the environment."""
    match test:
        case ast.Name() | ast.Attribute():
            return True
        case ast.Call(ast.Attribute(_, "get" | "getenv" | "is_available") | ast.Name("getenv")):
            return True
        case ast.UnaryOp(ast.Not(), operand):
            return is_switch(operand)
        case ast.BoolOp(_, operands):
            return all(map(is_switch, operands))
        case ast.Compare(left, [_], [ast.Constant()]):
            return is_switch(left)
        case _:
            return False


def _tests_for_gpu(test: ast.expr, names: Names) -> bool:
    return names.full_name(test.func if isinstance(test, ast.Call) else test) in _GPU_PRESENT


def _compared(left: ast.expr, operator: ast.cmpop, right: ast.expr, names: Names, variable: str | None) -> bool | None:
    if isinstance(left, ast.Name) and left.id == "__name__":
        return isinstance(operator, ast.Eq)
    parts = (part for side in (left, right) for part in ast.walk(side))
    if any(isinstance(part, ast.Attribute) and part.attr in _VERSIONS for part in parts):
        return True
    if names.full_name(left) == "sys.platform" and isinstance(right, ast.Constant):
        return isinstance(operator, ast.Eq) == str(right.value).startswith("linux")
    if isinstance(operator, ast.In | ast.NotIn) and names.is_environment(right):
        key = left if isinstance(left, ast.Constant) else names.value(left)
        is_it = isinstance(key, ast.Constant) and key.value == variable
        return isinstance(operator, ast.NotIn) if is_it else None
    if variable is not None and _variable_read(left, names) == variable:
        # The variable is unset, so its value is None or the default.
        is_none = isinstance(operator, ast.Is) and isinstance(right, ast.Constant) and right.value is None
        return isinstance(operator, ast.NotEq | ast.NotIn) or is_none
    return None


def _variable_read(expr: ast.expr, names: Names) -> str | None:
    """Return the variable that `expr` reads: `os.environ.get("X", ...)`, `int(os.getenv("X"))`.

    Empty if it reads one whose name is not known; None if it reads none.
    """
    match expr:
        case ast.Call(ast.Name("int" | "bool" | "str"), [inner]):
            return _variable_read(inner, names)
        case ast.Call(ast.Attribute(inner, "lower" | "strip" | "upper"), [], []):
            return _variable_read(inner, names)
        case ast.Call(func, [key, *_]) if names.full_name(func) in READERS:
            value = key if isinstance(key, ast.Constant) else names.value(key)
            return str(value.value) if isinstance(value, ast.Constant) else ""
        case ast.Subscript(base, ast.Constant(str(name))) if names.full_name(base) == "os.environ":
            return name
        case _:
            return None

"""The statements of a program to its settings: the conditions, loops and calls around each, and what ran before it."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.environment.python_code.names import Condition, Names, Scope, is_switch
from triton_doctor.static.environment.python_code.possible_texts import entries
from triton_doctor.static.environment.python_code.setters import Setters
from triton_doctor.static.environment.setting import RunOrder
from triton_doctor.static.python.imports import Imports, import_statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.static.environment.python_code.names import Definition
    from triton_doctor.static.environment.python_code.setters import FunctionCall, ReadShell
    from triton_doctor.static.environment.setting import EnvSetting
    from triton_doctor.static.python.module import Import
    from triton_doctor.static.sources.source_text import SourceText

_GIVEN_AS_ENVIRONMENT = re.compile(rb"(?i:env)\w*\s*=\s*([A-Za-z_]\w*)\s*[,)]")
_LEAVING_CALLS = frozenset({"exit", "quit", "_exit", "skip"})
_LONGEST_LOOP = 64
# Nested loops multiply the rounds: a loop that would exceed this binds nothing.
_MOST_ROUNDS = 256
# Functions of triton.language that are jitted kernels themselves (triton 3.9 language/standard.py, random.py). They are
# decorated when Triton is imported, so they are interpreted only if the variable was set before.
_JITTED_HELPERS = frozenset(
    "argmax argmin bitonic_merge cdiv cumprod cumsum flip interleave max min pair_uniform_to_normal philox rand rand4x "
    "randint randint4x randn randn4x ravel reduce_or sigmoid softmax sort sum swizzle2d topk uint_to_uniform_float "
    "xor_sum zeros zeros_like".split()
)


class Program:
    """A module: its tree and text, and the full names of what it imports."""

    def __init__(self, tree: ast.Module, source: SourceText) -> None:
        """Only the imports are read at first."""
        self.tree = tree
        self.source = source
        self.imports = Imports()
        for _, node in import_statements(tree.body, source):
            self.imports.add(node)
        self.names = Names(Scope(tree, None), self.imports)

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Yield every call of the file with the full name of what is called, in no particular order."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and (full := self.names.full_name(node.func)):
                yield full, node

    def settings(self, read_shell: ReadShell) -> tuple[EnvSetting, ...]:
        """Return every setting of the program, in order of lines. `read_shell` reads the commands that it runs."""
        setters = Setters(self.source, read_shell, self.source.found(_GIVEN_AS_ENVIRONMENT))
        walk = _Walk(setters)
        walk.read(self.tree.body, self.names, ())
        order = _Order(walk, setters.called)
        found = sorted(setters.found.values(), key=lambda setting: setting.span)
        return tuple(order.placed(setting) for setting in found)


class _Event(NamedTuple):
    """An import of Triton, or the decoration of a kernel with its name and body, at `line` of `function`."""

    line: int
    function: str | None
    name: str = ""
    body: Definition | None = None
    names: Names | None = None


class _Walk:
    """Reads statements in order. `imports_of_triton` and `kernels` are what they do to Triton, apart from settings."""

    def __init__(self, setters: Setters) -> None:
        self._setters = setters
        self._rounds = 1
        self.imports_of_triton: list[_Event] = []
        self.modules: list[tuple[int, Import]] = []
        self.kernels: list[_Event] = []

    def read(self, statements: Sequence[ast.stmt], names: Names, around: tuple[Condition, ...]) -> None:
        """Read `statements`, which run under the conditions `around`."""
        for node in statements:
            self._setters.names, self._setters.conditions = names, list(around)
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._define(node, names, around)
                case ast.ClassDef(body=body):
                    self._evaluate(node)
                    self.read(body, names, around)
                case ast.If(test, body, orelse):
                    self._setters.evaluate(test)
                    self.read(body, names, (*around, Condition(test, True)))
                    self.read(orelse, names, (*around, Condition(test, False)))
                    # An early return counts only if its test is a flag, not a test of arguments or of the rank.
                    if not orelse and _leaves(body) and is_switch(test):
                        around = (*around, Condition(test, False))
                case ast.Try(body, handlers, orelse, final) | ast.TryStar(body, handlers, orelse, final):
                    self.read(body, names, around)
                    for handler in handlers:
                        self.read(handler.body, names, (*around, Condition(handler, True)))
                    self.read([*orelse, *final], names, around)
                case ast.Match(subject, cases):
                    self._setters.evaluate(subject)
                    for case in cases:
                        self.read(case.body, names, (*around, Condition(case, True)))
                case ast.With(items, body) | ast.AsyncWith(items, body):
                    for item in items:
                        self._setters.evaluate(item.context_expr)
                    before = self._setters.is_undone
                    self._setters.is_undone = before or any(_is_scope(item.context_expr) for item in items)
                    self.read(body, names, around)
                    self._setters.is_undone = before
                case ast.For(target, source, body, orelse) | ast.AsyncFor(target, source, body, orelse):
                    self._setters.evaluate(source)
                    self._loop(target, source, body, names, around)
                    self.read(orelse, names, around)
                case ast.While(test, body, orelse):
                    self._setters.evaluate(test)
                    self.read([*body, *orelse], names, around)
                case _:
                    self._statement(node, names)

    def _statement(self, node: ast.stmt, names: Names) -> None:
        imports = Imports()
        if isinstance(node, ast.Import | ast.ImportFrom) and not self._is_for_types():
            imports.add(node)
        for imported in (*imports.names.values(), *imports.stars):
            if not imported.level and _is_triton(imported.module):
                self.imports_of_triton.append(_Event(node.lineno, names.scope.name))
            elif names.scope.outer is None:
                self.modules.append((node.lineno, imported))
        self._evaluate(node)
        match node:
            case ast.Assign(targets, value):
                for target in targets:
                    self._setters.assign(target, value)
                match value:
                    case ast.Call(func, [ast.Name(name), *_]) if _is_jit(func, names) and not self._is_for_types():
                        self.kernels.append(_Event(node.lineno, names.scope.name, name))
            case ast.AnnAssign(target, _, ast.expr() as value):
                self._setters.assign(target, value)
            case ast.AugAssign(target, ast.BitOr(), value):
                self._setters.update(target, value)

    def _evaluate(self, node: ast.stmt) -> None:
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr | ast.keyword):
                self._setters.evaluate(part.value if isinstance(part, ast.keyword) else part)

    def _define(self, node: Definition, names: Names, around: tuple[Condition, ...]) -> None:
        """Read a function. A condition around it decides whether it exists, not whether its calls run."""
        for decorator in node.decorator_list:
            self._setters.evaluate(decorator)
        inside = names.inside(Scope(node, names.scope))
        made_by = next((decorator for decorator in node.decorator_list if _is_jit(decorator, names)), None)
        if made_by is not None and not self._is_for_types():
            self.kernels.append(_Event(made_by.lineno, names.scope.name, node.name, node, inside))
        setters = self._setters
        before = setters.is_undone, setters.is_asked_for
        setters.is_undone |= _is_fixture_that_restores(node)
        setters.is_asked_for |= _is_context_manager(node)
        self.read(node.body, inside, tuple(outer for outer in around if not isinstance(outer.test, ast.expr)))
        setters.is_undone, setters.is_asked_for = before

    def _loop(
        self,
        target: ast.expr,
        source: ast.expr,
        body: Sequence[ast.stmt],
        names: Names,
        around: tuple[Condition, ...],
    ) -> None:
        """Read the body once for each round of a loop over literals; once if the rounds are not known, or too many."""
        rounds = _bindings_of_rounds(target, source, names)
        if self._rounds * len(rounds) > _MOST_ROUNDS:
            rounds = [{}]
        before, self._rounds = self._rounds, self._rounds * len(rounds)
        for given in rounds:
            self.read(body, names.bound(given), around)
        self._rounds = before

    def _is_for_types(self) -> bool:
        return any(
            isinstance(test, ast.Name | ast.Attribute)
            and (test.id if isinstance(test, ast.Name) else test.attr) == "TYPE_CHECKING"
            for test, outcome in self._setters.conditions
            if outcome
        )


class _Order:
    """What ran before a setting takes effect (import of Triton, decorated kernels), and what runs later."""

    def __init__(self, walk: _Walk, called: Mapping[str, Sequence[FunctionCall]]) -> None:
        self._called = called
        self._kernels = sorted(walk.kernels, key=lambda kernel: kernel.line)
        self._imports = walk.imports_of_triton
        self._modules = walk.modules

    def placed(self, setting: EnvSetting) -> EnvSetting:
        """Return `setting` with its run order; also guarded if all calls of its function are."""
        calls = self._called.get(setting.function or "", ())
        guarded = setting.guarded or (bool(calls) and all(call.is_guarded for call in calls))
        line, function = setting.span.line, setting.function
        # The module's line at which a setting inside a function runs: the first call, or the end of the module.
        at = (
            line
            if function is None
            else min((call.line for call in calls if call.caller is None), default=float("inf"))
        )
        imports = [imported.line for imported in self._imports if _before(imported, line, function, at)]
        before = [kernel for kernel in self._kernels if _before(kernel, line, function, at)]
        after = [kernel for kernel in self._kernels if kernel not in before]
        order = RunOrder(
            triton_imported=min(imports, default=None),
            kernel_decorated=before[-1].line if before else None,
            kernel=before[-1].name if before else None,
            kernels_after=tuple(kernel.name for kernel in after),
            helper=next(filter(None, map(_jitted_helper, after)), None),
            modules=tuple((imported_at, module) for imported_at, module in self._modules if imported_at < at),
        )
        return replace(setting, guarded=guarded, order=order)


def _before(event: _Event, line: int, function: str | None, at: float) -> bool:
    """Return whether `event` precedes a setting at `line` of `function`, which runs at line `at` of the module."""
    return event.line < at if event.function is None else event.function == function and event.line < line


def _jitted_helper(kernel: _Event) -> str | None:
    """Return a jitted function of triton.language that `kernel` calls."""
    for part in ast.walk(kernel.body) if kernel.body is not None and kernel.names is not None else ():
        full = kernel.names.full_name(part.func) if isinstance(part, ast.Call) and kernel.names is not None else None
        module, _, name = (full or "").rpartition(".")
        if name in _JITTED_HELPERS and module == "triton.language":
            return f"tl.{name}"
    return None


def _bindings_of_rounds(target: ast.expr, source: ast.expr, names: Names) -> list[Mapping[str, ast.expr]]:
    """Return the loop's bindings, one mapping for each round; a single empty mapping if they are not known."""
    rounds: list[Mapping[str, ast.expr]] = []
    match target, names.value(source) or source:
        case ast.Name(name), ast.Tuple(items) | ast.List(items) | ast.Set(items):
            rounds = [{name: item} for item in items]
        case ast.Name(name), ast.Dict(keys):
            rounds = [{name: key} for key in keys if key is not None]
        case ast.Tuple([ast.Name(name), ast.Name(other)]), _:
            rounds = [{name: entry.key, other: entry.value} for entry in entries(source, names)]
    return rounds if 0 < len(rounds) <= _LONGEST_LOOP else [{}]


def _leaves(body: Sequence[ast.stmt]) -> bool:
    match body[-1]:
        case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
            return True
        case ast.Expr(ast.Call(ast.Attribute(_, name) | ast.Name(name))):
            return name in _LEAVING_CALLS
        case _:
            return False


def _is_jit(expr: ast.expr, names: Names) -> bool:
    full = names.full_name(expr.func if isinstance(expr, ast.Call) else expr) or ""
    return _is_triton(full) and full.rpartition(".")[2] == "jit"


def _is_triton(name: str) -> bool:
    return name == "triton" or name.startswith("triton.")


def _is_scope(manager: ast.expr) -> bool:
    """Return whether `manager` is `triton.knobs.runtime.scope()`, which restores knobs at its end."""
    return isinstance(manager, ast.Call) and isinstance(manager.func, ast.Attribute) and manager.func.attr == "scope"


def _is_context_manager(node: Definition) -> bool:
    """Return whether `node` is used by `with`, so that its settings last for that block."""
    return node.name == "__enter__" or _has_decorator(node, "contextmanager", "asynccontextmanager")


def _is_fixture_that_restores(node: Definition) -> bool:
    """Return whether `node` is a fixture with code after its `yield`."""
    if not _has_decorator(node, "fixture"):
        return False
    yields = [part.lineno for part in ast.walk(node) if isinstance(part, ast.Yield)]
    return bool(yields) and (node.end_lineno or node.lineno) > min(yields)


def _has_decorator(node: Definition, *names: str) -> bool:
    for decorator in node.decorator_list:
        match decorator.func if isinstance(decorator, ast.Call) else decorator:
            case ast.Name(name) | ast.Attribute(_, name) if name in names:
                return True
    return False

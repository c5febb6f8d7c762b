"""Syntax to a trace: every evaluation of a module in order of the text, with what surrounds it and its span.

For the variability of values, `Contents` is enough. What a program does to its environment depends on all of its
statements: a trace has those, and is only made of files that may set a variable.
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from triton_doctor.static.python.function_body import Body
from triton_doctor.static.python.imports import Imports, import_statements
from triton_doctor.static.python.ir import Call, Const, Expr, IterItem, Opaque
from triton_doctor.static.python.located import LocatedLowering, pending
from triton_doctor.static.python.pieces import lines_of
from triton_doctor.static.python.step import Condition, LoopOver, Managed, ProgramStep, Surrounding, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.sources.source_text import SourceText

_Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_LEAVING_CALLS = frozenset({"exit", "quit", "_exit", "skip"})


class Routine:
    """A function, or the top level of a module with its class bodies; read on first access."""

    def __init__(
        self, trace: Trace, node: ast.Module | _Definition, outer: Routine | None, around: tuple[Surrounding, ...]
    ) -> None:
        """`around` is what surrounds its definition."""
        self.outer = outer
        self._around = around
        self.name: str | None = None
        self.params = frozenset[str]()
        self.line, self.last_line = 1, trace.source.last_line
        self._trace = trace
        self._node = node
        if not isinstance(node, ast.Module):
            self.name = node.name
            self.params = frozenset(arg.arg for arg in ast.iter_child_nodes(node.args) if isinstance(arg, ast.arg))
            self.line, self.last_line = lines_of(node)

    @cached_property
    def _body(self) -> _TracedBody:
        body = _TracedBody(self, self._trace, self._around)
        body.read(self._node.body)
        body.release()
        return body

    @property
    def steps(self) -> Sequence[ProgramStep]:
        """Its steps in order of the text, without those of nested functions."""
        return self._body.steps

    @property
    def functions(self) -> Sequence[Routine]:
        """The functions in it, including methods."""
        return self._body.functions

    @cached_property
    def around(self) -> tuple[Surrounding, ...]:
        """What surrounds its definition, outermost first."""
        return tuple([resolve(one, self._trace.lowering) for one in self._around])

    @cached_property
    def decorators(self) -> tuple[Expr, ...]:
        """Its decorators."""
        listed = [] if isinstance(self._node, ast.Module) else self._node.decorator_list
        return self._trace.lowering.lower_all(listed)

    def values(self, name: str) -> Sequence[Expr]:
        """Return everything that it assigns to `name`, which may be `self.name`, or `Class.name` in a class body."""
        return [self._trace.lowering.resolve(value) for value in self._body.values.get(name, ())]


class Trace:
    """The steps of a module. `imports` are those of the whole file."""

    def __init__(self, tree: ast.Module, source: SourceText) -> None:
        """Only the imports are read at first; the tree is kept."""
        self.source = source
        self.lowering = LocatedLowering(source)
        self.imports = Imports()
        for _, node in import_statements(tree.body, source):
            self.imports.add(node)
        self.module = Routine(self, tree, None, ())
        self._tree = tree

    def calls(self) -> Iterator[Call]:
        """Yield every call of the file, in no particular order."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call):
                call = self.lowering.lower(node)
                assert isinstance(call, Call)
                yield call


class _TracedBody(Body):
    """A body that also keeps the steps of `routine`."""

    def __init__(self, routine: Routine, trace: Trace, around: tuple[Surrounding, ...]) -> None:
        super().__init__(trace.source)
        self._evaluate = self._step
        self._routine = routine
        self._trace = trace
        self._around = around
        self._lines = (1, 1)
        self._class = ""
        self.steps: list[ProgramStep] = []
        self.functions: list[Routine] = []
        self.values: dict[str, list[Expr]] = {}

    def read(self, statements: Sequence[ast.stmt]) -> None:
        around, lines = self._around, self._lines
        for statement in statements:
            self._lines = lines_of(statement)
            self._statement(statement)
            if isinstance(statement, ast.If) and not statement.orelse and _leaves(statement.body):
                self._around = (*self._around, Condition(pending(statement.test), False, is_left=True))
        self._around, self._lines = around, lines

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.functions.append(Routine(self._trace, node, self._routine, self._around))
                for decorator in node.decorator_list:
                    self._step(decorator)
            case ast.ClassDef():
                self._evaluate_parts(node)
                outer = self._class
                self._class = f"{outer}{node.name}."
                self.read(node.body)
                self._class = outer
            case ast.If(test=test, body=body, orelse=orelse):
                self._step(test)
                self._read_within(body, Condition(pending(test), True))
                self._read_within(orelse, Condition(pending(test), False))
            case ast.Try() | ast.TryStar():
                self.read(node.body)
                for handler in node.handlers:
                    caught = () if handler.type is None else (self._trace.lowering.lower(handler.type),)
                    self._read_within(handler.body, Condition(Opaque("ExceptHandler", caught), True))
                self.read(node.orelse)
                self.read(node.finalbody)
            case ast.Match(subject=subject, cases=cases):
                self._step(subject)
                for case in cases:
                    self._read_within(case.body, Condition(Opaque("match_case"), True))
            case ast.With() | ast.AsyncWith():
                around = self._around
                self._around = (*around, *(Managed(pending(item.context_expr)) for item in node.items))
                super()._statement(node)
                self._around = around
            case ast.Import(names=names):
                for alias in names:
                    self._add_step(Opaque("Import", (Const(alias.name),)))
            case ast.ImportFrom(module=str(module), level=0):
                self._add_step(Opaque("Import", (Const(module),)))
            case ast.Raise() | ast.Delete():
                self._evaluate_parts(node)
            case _:
                super()._statement(node)

    def _loop(self, body: list[ast.stmt], orelse: list[ast.stmt], target: tuple[ast.expr, Expr, int] | None) -> None:
        if target is None:
            super()._loop(body, orelse, target)
            return
        self._assign(*target)
        assert isinstance(target[1], IterItem)
        self._read_within(body, LoopOver(pending(target[0]), target[1].source))
        self.read(orelse)

    def _read_within(self, statements: Sequence[ast.stmt], surrounding: Surrounding) -> None:
        around = self._around
        self._around = (*around, surrounding)
        self.read(statements)
        self._around = around

    def _step(self, node: ast.expr) -> Expr:
        value = pending(node)
        self._add_step(value)
        return value

    def _evaluate_parts(self, node: ast.stmt) -> None:
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr | ast.keyword):
                self._step(part.value if isinstance(part, ast.keyword) else part)

    def _add_step(self, value: Expr, target: ast.expr | None = None, operator: str = "=") -> None:
        to = pending(target) if target is not None else None
        self.steps.append(ProgramStep(self._trace.lowering, value, to, operator, self._lines, self._around))

    def _assign(self, target: ast.expr, value: Expr, line: int) -> None:
        self._add_step(value, target)
        match target:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                self._bind(f"self.{name}", value, line)
            case _:
                super()._assign(target, value, line)

    def _augment(self, target: ast.expr, value: ast.BinOp, line: int) -> None:
        self._add_step(self._step(value.right), target, f"{type(value.op).__name__}=")
        if isinstance(target, ast.Name):
            self._bind(target.id, Opaque("AugAssign"), line)

    def _bind(self, name: str, value: Expr, line: int, annotation: str | None = None) -> None:
        self.values.setdefault(self._class + name, []).append(value)

    def _limit(self, test: ast.expr, *, holds: bool, raises: bool = False) -> None:
        """Do nothing: bounds of sizes are no steps."""


def _leaves(body: Sequence[ast.stmt]) -> bool:
    match body[-1]:
        case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name))):
            return name in _LEAVING_CALLS
        case _:
            return False

"""Syntax to steps: every evaluation of a module in the order of its text, what decides over it, and where it stands.

What decides how often a value changes needs no more than `Contents`. What a program does to the world outside, such as
its environment, needs all of its statements: those are read here, of the few files where that matters.
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from triton_doctor.static.python.function_body import Body
from triton_doctor.static.python.functions import host_params
from triton_doctor.static.python.imports import Imports, import_statements
from triton_doctor.static.python.ir import Call, Comprehension, Const, Expr, IterItem, Opaque, TupleExpr
from triton_doctor.static.python.lower import Lowering
from triton_doctor.static.python.pieces import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.finding import Span
    from triton_doctor.static.sources.source_text import SourceText

_Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_LEAVING_CALLS = frozenset({"exit", "quit", "_exit", "skip"})


class Condition(NamedTuple):
    """`test` has that `outcome`. Of an `except` and a `case`, it is Opaque with what is caught, or with nothing.

    `is_left` where the other outcome has left the block above: `if test: return`.
    """

    test: Expr
    outcome: bool
    is_left: bool = False


class LoopOver(NamedTuple):
    """The body of `for target in source`."""

    target: Expr
    source: Expr


class Managed(NamedTuple):
    """The body of `with manager`."""

    manager: Expr


Surrounding: TypeAlias = Condition | LoopOver | Managed


class Step(NamedTuple):
    """A statement evaluates `value`, and assigns it to `target` where there is one, by `operator`.

    `line` and `last_line` are those of the statement; `around` is what it stands in, outermost first.
    An import has the value `Opaque("Import", (Const(module),))`.
    """

    value: Expr
    target: Expr | None
    operator: str
    line: int
    last_line: int
    around: tuple[Surrounding, ...]


class Routine:
    """A function, or the top level of a module with the bodies of its classes; read when its steps are asked for."""

    def __init__(
        self, trace: Trace, node: ast.Module | _Definition, outer: Routine | None, around: tuple[Surrounding, ...]
    ) -> None:
        """`around` is what its definition stands in."""
        self.outer = outer
        self.around = around
        self.name: str | None = None
        self.params = frozenset[str]()
        self.decorators: tuple[Expr, ...] = ()
        self.line, self.last_line = 1, trace.source.last_line
        if not isinstance(node, ast.Module):
            self.name = node.name
            self.params = frozenset(param.name for param in host_params(node.args))
            self.decorators = trace.lowering.lower_all(node.decorator_list)
            self.line, self.last_line = lines_of(node)
        self._trace = trace
        self._node = node

    @cached_property
    def _body(self) -> _TracedBody:
        body = _TracedBody(self, self._trace)
        body.read(self._node.body)
        body.release()
        return body

    @property
    def steps(self) -> Sequence[Step]:
        """What it does, in the order of its text; not what the functions in it do."""
        return self._body.steps

    @property
    def functions(self) -> Sequence[Routine]:
        """The functions that stand in it, methods too."""
        return self._body.functions

    @property
    def bindings(self) -> Mapping[str, Sequence[Expr]]:
        """All that it assigns to a name, to `self.name`, and to `Class.name` in the body of a class."""
        return self._body.values

    def all_functions(self) -> Iterator[Routine]:
        """The functions in it, and those in them."""
        for function in self.functions:
            yield function
            yield from function.all_functions()


class Trace:
    """What a module does. `imports` are those of the whole file."""

    def __init__(self, tree: ast.Module, source: SourceText) -> None:
        """Nothing but the imports is read yet; the tree is held as long as this is."""
        self.source = source
        self.lowering = _LocatedLowering()
        self.imports = Imports()
        for _, node in import_statements(tree.body):
            self.imports.add(node)
        self.module = Routine(self, tree, None, ())

    def span(self, part: Expr | tuple[str | None, Expr]) -> Span:
        """Where `part` stands: an expression, or a keyword of a call."""
        return self.source.span(self.lowering.places[id(part)][1])

    def calls(self) -> Iterator[Call]:
        """Every call of the file, in no order."""
        for routine in (self.module, *self.module.all_functions()):
            _ = routine.steps
        for part, _ in self.lowering.places.values():
            if type(part) is Call:
                yield part


class _LocatedLowering(Lowering):
    """Lowers each node once and without a gap: what is Opaque keeps the expressions in it.

    `places` are the nodes of expressions, and of keywords of calls, by their identity.
    """

    def __init__(self) -> None:
        super().__init__(lambda node, call: None, lambda name, value, line: None)
        self.places: dict[int, tuple[object, ast.expr | ast.keyword]] = {}
        self._lowered: dict[int, Expr] = {}

    def lower(self, node: ast.expr) -> Expr:
        known = self._lowered.get(id(node))
        if known is not None:
            return known
        expr = super().lower(node)
        if type(expr) is Opaque:
            expr = Opaque(expr.what, self._parts(node))
        elif type(expr) is Call and isinstance(node, ast.Call):
            for pair, keyword in zip(expr.keywords, node.keywords, strict=True):
                self.places[id(pair)] = (pair, keyword)
        self.places.setdefault(id(expr), (expr, node))  # `(y := x)` has the value of `x`
        self._lowered[id(node)] = expr
        return expr

    def _parts(self, node: ast.expr) -> tuple[Expr, ...]:
        if isinstance(node, ast.DictComp):
            first = node.generators[0]
            names = tuple(name.id for name in ast.walk(first.target) if isinstance(name, ast.Name))
            item = TupleExpr((self.lower(node.key), self.lower(node.value)))
            return (Comprehension(item, names, self.lower(first.iter), bool(first.ifs)),)
        return tuple([self.lower(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)])


class _TracedBody(Body):
    """Keeps the steps of `routine`, beside what every body keeps."""

    def __init__(self, routine: Routine, trace: Trace) -> None:
        super().__init__(trace.source)
        self._lowering = trace.lowering
        self._evaluate = self._step
        self._routine = routine
        self._trace = trace
        self._around = routine.around
        self._extent = (1, 1)
        self._class = ""
        self.steps: list[Step] = []
        self.functions: list[Routine] = []
        self.values: dict[str, list[Expr]] = {}

    def read(self, statements: Sequence[ast.stmt]) -> None:
        around, extent = self._around, self._extent
        for statement in statements:
            self._extent = lines_of(statement)
            self._statement(statement)
            if isinstance(statement, ast.If) and not statement.orelse and _leaves(statement.body):
                test = self._lowering.lower(statement.test)
                self._around = (*self._around, Condition(test, False, is_left=True))
        self._around, self._extent = around, extent

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                function = Routine(self._trace, node, self._routine, self._around)
                self.functions.append(function)
                for decorator in function.decorators:
                    self._add_step(decorator)
            case ast.ClassDef():
                self._evaluate_parts(node)
                outer = self._class
                self._class = f"{outer}{node.name}."
                self.read(node.body)
                self._class = outer
            case ast.If(test=test, body=body, orelse=orelse):
                tested = self._step(test)
                self._read_within(body, Condition(tested, True))
                self._read_within(orelse, Condition(tested, False))
            case ast.Try() | ast.TryStar():
                self.read(node.body)
                for handler in node.handlers:
                    caught = () if handler.type is None else (self._lowering.lower(handler.type),)
                    self._read_within(handler.body, Condition(Opaque("ExceptHandler", caught), True))
                self.read(node.orelse)
                self.read(node.finalbody)
            case ast.Match(subject=subject, cases=cases):
                self._step(subject)
                for case in cases:
                    self._read_within(case.body, Condition(Opaque("match_case"), True))
            case ast.With() | ast.AsyncWith():
                outer_around = self._around
                self._around += tuple(Managed(self._lowering.lower(item.context_expr)) for item in node.items)
                super()._statement(node)
                self._around = outer_around
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
        self._read_within(body, LoopOver(self._lowering.lower(target[0]), target[1].source))
        self.read(orelse)

    def _read_within(self, statements: Sequence[ast.stmt], surrounding: Surrounding) -> None:
        outer = self._around
        self._around = (*outer, surrounding)
        self.read(statements)
        self._around = outer

    def _step(self, node: ast.expr) -> Expr:
        value = self._lowering.lower(node)
        self._add_step(value)
        return value

    def _evaluate_parts(self, node: ast.stmt) -> None:
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr | ast.keyword):
                self._step(part.value if isinstance(part, ast.keyword) else part)

    def _add_step(self, value: Expr, target: Expr | None = None, operator: str = "=") -> None:
        self.steps.append(Step(value, target, operator, *self._extent, self._around))

    def _assign(self, target: ast.expr, value: Expr, line: int) -> None:
        self._add_step(value, self._lowering.lower(target))
        match target:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                self._bind(f"self.{name}", value, line)
            case _:
                super()._assign(target, value, line)

    def _augment(self, target: ast.expr, value: ast.BinOp, line: int) -> None:
        super()._augment(target, value, line)
        self._add_step(self._step(value.right), self._lowering.lower(target), f"{type(value.op).__name__}=")

    def _bind(self, name: str, value: Expr, line: int, annotation: str | None = None) -> None:
        self.values.setdefault(self._class + name, []).append(value)


def _leaves(body: Sequence[ast.stmt]) -> bool:
    match body[-1]:
        case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name))):
            return name in _LEAVING_CALLS
        case _:
            return False

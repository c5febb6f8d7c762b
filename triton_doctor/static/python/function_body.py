"""A host function's statements to its bindings, stores, returns, calls and launches, in order of the text."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from triton_doctor.static.python.bounds import limits_of
from triton_doctor.static.python.conditions import (
    FlagTests,
    catches_compile_error,
    decided_flag,
    expects_error,
    given_name,
    is_main_guard,
    name_in_flag,
    none_flag,
    packed_row,
)
from triton_doctor.static.python.function import (
    LAUNCHING_METHODS,
    Argument,
    AssertedBound,
    Binding,
    BranchArm,
    BranchTest,
    CallSite,
    Contents,
    Launch,
    NoneTest,
    Returned,
    Stored,
)
from triton_doctor.static.python.ir import Attr, Call, Const, Expr, IterItem, Name, Subscript, TupleExpr, Unpacked
from triton_doctor.static.python.lower import Lowering, annotation_word, lower_alone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.sources.source_text import SourceText


_GENERIC = frozenset({"list", "dict", "tuple", "set", "frozenset", "type", "defaultdict", "deque", "OrderedDict"})
# The method of a launch that a function returns as data: `return grid, dict(x_ptr=x, BLOCK=64)`.
DECLARED = "return"


class Body:
    """Collects the contents of one function.

    Nested definitions go to `nested`, to be read on their own; `for_main` has the lines of those under a main guard.
    """

    def __init__(self, source: SourceText) -> None:
        """Start empty: `read` the statements, then call `contents`."""
        self._source = source
        self._lowering = Lowering(self._on_call, self._bind)
        self._order = 0
        self._branches = 0
        self._left = 0
        self._arms: tuple[BranchArm, ...] = ()
        self._bindings: dict[str, list[Binding]] = {}
        self._stored: list[Stored] = []
        self._returns: list[Returned] = []
        self.calls: list[CallSite] = []
        self._launches: list[Launch] = []
        self._tables: dict[str, ast.expr] = {}
        self._limits: dict[str, list[AssertedBound]] = {}
        self._none_tests: dict[str, list[NoneTest]] = {}
        self._globals: set[str] = set()
        self._tests: dict[int, BranchTest] = {}
        self._unreachable: list[tuple[int, int]] = []
        self._flags = FlagTests()
        self.nested: list[tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, tuple[Expr, ...]]] = []
        self.for_main: set[int] = set()

    def contents(self) -> Contents:
        """Return everything that was read so far."""
        return Contents(
            bindings={name: tuple(bindings) for name, bindings in self._bindings.items()},
            stored=tuple(self._stored),
            returns=tuple(self._returns),
            calls=tuple(self.calls),
            launches=tuple(self._launches),
            limits={name: tuple(limits) for name, limits in self._limits.items()},
            none_tests={name: tuple(tests) for name, tests in self._none_tests.items()},
            globals=frozenset(self._globals),
            tests=self._tests,
            unreachable=tuple(self._unreachable),
        )

    def read(self, statements: Sequence[ast.stmt]) -> None:
        """Append `statements`. Statements after a `raise` or `return` are unreachable and skipped."""
        for index, statement in enumerate(statements):
            self._order += 1
            self._statement(statement)
            if isinstance(statement, ast.Raise | ast.Return):
                self._unreachable += [(dead.lineno, dead.end_lineno or dead.lineno) for dead in statements[index + 1 :]]
                break

    def read_defaults(self, args: ast.arguments) -> None:
        """Append the calls in the defaults of the parameters."""
        for default in (*args.defaults, *args.kw_defaults):
            if default is not None:
                self._lowering.lower(default)

    def release(self) -> None:
        """Break the reference cycle with the lowering, which would keep the syntax tree in memory."""
        del self._lowering, self._flags

    def _statement(self, node: ast.stmt) -> None:
        lower = self._lowering.lower
        match node:
            case ast.Assign(targets=targets, value=value):
                lowered = lower(value)
                for target in targets:
                    self._assign(target, lowered, node.lineno)
                if isinstance(value, ast.IfExp) and (packed := packed_row(value)) is not None:
                    self._limit(packed, holds=True)
                if len(targets) == 1 and isinstance(targets[0], ast.Name):
                    self._flags.assign(targets[0].id, value, self._arms)
                    self._tables[targets[0].id] = value
            case ast.Expr(value=ast.Call(func=ast.Attribute(ast.Name("torch"), "_check"), args=[test, *_]) as value):
                lower(value)
                self._limit(test, holds=True, raises=True)
            case ast.Expr(value=value):
                if not isinstance(value, ast.Constant):
                    lower(value)
            case ast.If(test=test, body=body, orelse=orelse):
                self._branch(body, orelse, test)
                if isinstance(body[-1], ast.Raise | ast.Return):
                    self._limit(test, holds=False, raises=isinstance(body[-1], ast.Raise))
            case ast.Break() | ast.Continue():
                self._left = self._order
            case ast.Return(value=value):
                self._left = self._order
                if value is not None:
                    self._returns.append(Returned(lower(value), self._order, node.lineno, self._arms))
                    if isinstance(value, ast.Tuple):
                        self._declare(value)
            case ast.AugAssign(target=target, op=op, value=value):
                self._assign(target, lower(ast.BinOp(target, op, value)), node.lineno)
            case ast.AnnAssign(target=target, value=value):
                if value is not None and isinstance(target, ast.Name):
                    self._bind(target.id, lower(value), node.lineno, annotation_word(node.annotation))
                elif value is not None:
                    self._assign(target, lower(value), node.lineno)
            case ast.For() | ast.AsyncFor():
                source = lower(node.iter)
                self._loop(node.body, node.orelse, (node.target, IterItem(source), node.lineno))
            case ast.While(test=test, body=body, orelse=orelse):
                lower(test)
                self._loop(body, orelse, test=test)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    entered = lower(item.context_expr)
                    if item.optional_vars is not None:
                        self._assign(item.optional_vars, entered, node.lineno)
                self._guarded(node.body, expects_error=any(expects_error(item.context_expr) for item in node.items))
            case ast.Try() | ast.TryStar():
                self._guarded(node.body, expects_error=any(catches_compile_error(handler) for handler in node.handlers))
                for handler in node.handlers:
                    self._branch(handler.body, [])
                self.read(node.orelse)
                self.read(node.finalbody)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self.nested.append((node, self._lowering.lower_all(node.decorator_list)))
                if any(arm.is_main for arm in self._arms):
                    self.for_main.add(node.lineno)
            case ast.Assert(test=test):
                lower(test)
                self._limit(test, holds=True, raises=True)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                self._globals.update(names)
            case ast.Match(subject=subject, cases=cases):
                lower(subject)
                for case in cases:
                    self._branch(case.body, [])

    def _branch(self, body: list[ast.stmt], orelse: list[ast.stmt], test: ast.expr | None = None) -> None:
        self._branches += 1
        branch, outer = self._branches, self._arms
        if test is not None:
            leaves = isinstance(body[-1], ast.Raise | ast.Return)
            self._tests[branch] = BranchTest(self._lowering.lower(test), self._order, outer, leaves)
        for side, statements in enumerate((body, orelse)):
            if statements:
                holds = side == 0
                flag, given = decided_flag(test, holds=holds), given_name(test, holds=holds)
                self._arms = (*outer, BranchArm(branch, side, 2, False, holds and is_main_guard(test), *flag, given))
                if test is not None:
                    self._limit(test, holds=holds)
                self.read(statements)
        self._arms = outer

    def _guarded(self, body: list[ast.stmt], *, expects_error: bool) -> None:
        outer = self._arms
        if expects_error:
            self._branches += 1
            self._arms = (*outer, BranchArm(self._branches, 0, 1, False, expects_error=True))
        self.read(body)
        self._arms = outer

    def _loop(
        self,
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        target: tuple[ast.expr, Expr, int] | None = None,
        test: ast.expr | None = None,
    ) -> None:
        self._branches += 1
        outer, self._arms = self._arms, (*self._arms, BranchArm(self._branches, 0, 2, True))
        self._flags.enter_loop(self._branches, body)
        if target is not None:
            self._assign(*target)
        if test is not None:
            self._limit(test, holds=True)
        self.read(body)
        self._arms = outer
        self.read(orelse)

    def _assign(self, target: ast.expr, value: Expr, line: int) -> None:
        match target:
            case ast.Name(id=name):
                self._bind(name, value, line)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                starred = [index for index, elt in enumerate(elts) if isinstance(elt, ast.Starred)]
                count = len(elts) - len(starred)
                for index, elt in enumerate(elts):
                    if isinstance(elt, ast.Starred):
                        self._assign(elt.value, Unpacked(value, None, count, True, index), line)
                    else:
                        after_star = bool(starred) and index > starred[0]
                        part = Unpacked(value, index - len(elts) if after_star else index, count, bool(starred))
                        self._assign(elt, part, line)
            case ast.Attribute(value=ast.Name(id=base), attr=name):
                self._stored.append(Stored(base, name, value, self._order, line, self._arms))
            case ast.Subscript(value=ast.Name(id=base), slice=ast.Constant(value=str(name))):
                self._stored.append(Stored(base, name, value, self._order, line, self._arms))
            case _:
                pass

    def _bind(self, name: str, value: Expr, line: int, annotation: str | None = None) -> None:
        self._flags.forget(name)
        self._bindings.setdefault(name, []).append(Binding(name, value, self._order, line, self._arms, annotation))

    def _limit(self, test: ast.expr, *, holds: bool, raises: bool = False) -> None:
        """Record the bounds that `test` implies if it `holds`, or if it does not."""
        left = self._left if raises else None
        spelled = self._flags.spell_out(test, self._arms)
        for name, axis, high, choices, given, is_equal in limits_of(spelled, holds=holds):
            bound = self._lowering.lower(high) if high is not None else None
            arms = self._arms
            for param in given:
                self._branches += 1
                arms = (
                    *arms,
                    BranchArm(self._branches, 0, 2, False, flag=none_flag(param), is_true=False, given=param),
                )
            limits = self._limits.setdefault(name, [])
            limits.append(AssertedBound(axis, bound, choices, self._order, arms, left, is_equal))
        flag, is_none = decided_flag(test, holds=holds) if raises else (None, True)
        if flag is not None and (tested := name_in_flag(flag)) is not None:
            self._none_tests.setdefault(tested, []).append(NoneTest(is_none, self._order, self._arms))

    def _on_call(self, node: ast.Call, call: Call) -> None:
        func = node.func
        if isinstance(call.func, Subscript) and _may_be_grid(call.func, call):
            self._launch(node, call, kernel=call.func.base, grid=call.func.key, method=None)
        elif isinstance(func, ast.Attribute) and func.attr in LAUNCHING_METHODS:
            assert isinstance(call.func, Attr)
            grid = next((value for name, value in call.keywords if name == "grid"), None)
            if grid is not None:
                self._launch(node, call, kernel=call.func.base, grid=grid, method=func.attr)
        if isinstance(func, ast.Attribute) and func.attr == "update" and isinstance(func.value, ast.Name):
            for name, value in call.keywords:
                if name is not None:
                    self._stored.append(Stored(func.value.id, name, value, self._order, node.lineno, self._arms))
        spanned = func if isinstance(func, ast.Call) else None if node.args or node.keywords else node
        span = None if spanned is None else self._source.span(spanned)
        self.calls.append(CallSite(call, self._order, node.lineno, self._arms, span))

    def _declare(self, node: ast.Tuple) -> None:
        """Record a grid with a table of named arguments, which a caller may launch. `kernel` holds the other items."""
        for item in node.elts:
            table = self._tables.get(item.id, item) if isinstance(item, ast.Name) else item
            named = named_items(table)
            others = [other for other in node.elts if other is not item]
            if not named or not others:
                continue
            grid = next((other for other in others if isinstance(other, ast.Tuple | ast.Lambda)), others[0])
            span_of = self._source.span
            self._launches.append(
                Launch(
                    kernel=TupleExpr(tuple(map(lower_alone, others))),
                    grid=lower_alone(grid),
                    arguments=tuple(Argument(name, lower_alone(value), span_of(value)) for name, value in named),
                    method=DECLARED,
                    span=span_of(node),
                    order=self._order,
                    arms=self._arms,
                )
            )
            return

    def _launch(self, node: ast.Call, call: Call, *, kernel: Expr, grid: Expr, method: str | None) -> None:
        arguments = [
            Argument(None, value, self._source.span(arg)) for arg, value in zip(node.args, call.args, strict=True)
        ]
        for keyword, (name, value) in zip(node.keywords, call.keywords, strict=True):
            if method is None or name != "grid":
                arguments.append(Argument(name or "**", value, self._source.span(keyword.value)))
        self._launches.append(
            Launch(
                kernel=kernel,
                grid=grid,
                arguments=tuple(arguments),
                method=method,
                span=self._source.span(node),
                order=self._order,
                arms=self._arms,
            )
        )


def _may_be_grid(subscript: Subscript, call: Call) -> bool:
    """Return whether the key of `subscript`, which `call` calls, may be the grid of a launch.

    A grid is a tuple or callable (triton 3.9 jit.py:780 takes its length): `table["rope"](x)` launches nothing. Neither
    do `list[int](x)` and, as a kernel without arguments has no effect, `table[name]()`.
    """
    if isinstance(subscript.key, Const) or (isinstance(subscript.base, Name) and subscript.base.id in _GENERIC):
        return False
    return bool(call.args or call.keywords) or isinstance(subscript.key, TupleExpr)


def named_items(node: ast.expr) -> list[tuple[str, ast.expr]]:
    """Return the items of `dict(name=value)` or `{"name": value}`; empty for anything else and for computed names."""
    match node:
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
            return [(keyword.arg or "**", keyword.value) for keyword in keywords]
        case ast.Dict(keys=names, values=values) if all(name is None or _is_text(name) for name in names):
            return [(getattr(name, "value", "**"), value) for name, value in zip(names, values, strict=True)]
        case _:
            return []


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)

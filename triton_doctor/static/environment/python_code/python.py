"""The walk over the statements of one Python file that collects its environment settings."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.static.environment.python_code.collected import Collected
from triton_doctor.static.environment.python_code.entries import entries, is_environment
from triton_doctor.static.environment.python_code.guards import is_switch
from triton_doctor.static.environment.python_code.here import WalkState
from triton_doctor.static.environment.python_code.names import Bindings
from triton_doctor.static.environment.python_code.order import Program
from triton_doctor.static.environment.python_code.setters import EnvironmentSetters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.static.environment.python_code.collected import ReadShell
    from triton_doctor.static.environment.setting import EnvSetting
    from triton_doctor.static.sources.source_text import SourceText

_LONGEST_LOOP = 64
# A line with none of these sets nothing, and starts nothing that does; knobs are told by their last names.
_WORTH_READING = (
    *(b"env", b"ENV", b"TRI", b"TRT", b"knobs", b"system", b"popen", b"subprocess", b"setattr", b"getoutput"),
    *(b"interpret", b"compil", b"dump", b"debug", b".run"),
)
_GIVEN_AS_ENVIRONMENT = re.compile(rb"(?i:env)\w*\s*=\s*([A-Za-z_]\w*)\s*[,)]")


class SettingsReader:
    """Reads one file; `settings` does the work."""

    def __init__(self, tree: ast.Module, source: SourceText, read_shell: ReadShell) -> None:
        """`read_shell` reads the commands that the program runs. Nothing of `tree` is kept after `settings`."""
        self._tree = tree
        self._source = source
        self._lines = source.lines_with(_WORTH_READING)
        self._here = WalkState(Bindings(tree))
        self._collected = Collected(self._here, source, read_shell)
        self._setters = EnvironmentSetters(self._here, self._collected, source.found(_GIVEN_AS_ENVIRONMENT))

    def settings(self) -> tuple[EnvSetting, ...]:
        """Every setting of the file, in order of lines."""
        if not self._lines:
            return ()
        self._block(self._tree.body)
        self._find_calls({setting.function for setting in self._collected.found.values() if setting.function})
        program = Program(self._tree, self._here.names, self._setters.called) if self._collected.found else None
        found = sorted(self._collected.found.values(), key=lambda setting: setting.span)
        return tuple(self._finished(setting, program) for setting in found if program)

    def _find_calls(self, functions: set[str]) -> None:
        """Reads once more, now also where a function that sets something is called."""
        if functions:
            calling = self._source.lines_with(name.encode() for name in functions)
            self._lines = sorted({*self._lines, *calling})
            self._setters.called.clear()
            self._block(self._tree.body)

    def _finished(self, setting: EnvSetting, program: Program) -> EnvSetting:
        calls = self._setters.called.get(setting.function or "", [])
        only_when_switched = bool(calls) and all(guarded for _, _, guarded in calls)
        order = program.order(setting.span.line, setting.function)
        return replace(setting, guarded=setting.guarded or only_when_switched, order=order)

    def _is_worth_reading(self, statement: ast.stmt) -> bool:
        first = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])
        place = bisect_left(self._lines, first)
        return place < len(self._lines) and self._lines[place] <= (statement.end_lineno or first)

    # statements

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        depth = len(self._here.tests)
        for statement in statements:
            if self._is_worth_reading(statement):
                self._statement(statement)
            if (
                isinstance(statement, ast.If)
                and _leaves(statement.body)
                and not statement.orelse
                and is_switch(statement.test)
            ):
                self._here.tests.append((statement.test, False))
        del self._here.tests[depth:]

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._definition(statement)
            case ast.If(test=test, body=body, orelse=orelse):
                self._setters.read(test)
                self._under(test, True, body)
                self._under(test, False, orelse)
            case ast.For(target=target, iter=values, body=body, orelse=orelse):
                self._setters.read(values)
                self._loop(target, values, body)
                self._block(orelse)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
                self._block(body)
                for handler in handlers:
                    with self._here.switched(not _catches_key_error(handler)):
                        self._block(handler.body)
                self._block(orelse)
                self._block(finalbody)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    self._other(item)
                with self._here.in_scope(any(_is_scope(item.context_expr) for item in items)):
                    self._block(body)
            case ast.Match(subject=subject, cases=cases):
                self._setters.read(subject)
                for case in cases:
                    with self._here.switched(True):
                        self._block(case.body)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._setters.assign(target, value)
                self._setters.read(value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._setters.assign(target, value)
                self._setters.read(value)
            case ast.AugAssign(target=target, op=ast.BitOr(), value=value):
                if self._setters.is_own_or_child(target):
                    self._collected.add_entries(
                        entries(value, self._here.names), "os.environ |=", own=is_environment(target, self._here.names)
                    )
                self._setters.read(value)
            case _:
                for child in ast.iter_child_nodes(statement):
                    if isinstance(child, ast.stmt):
                        continue
                    self._other(child)
                for block in ("body", "orelse"):
                    self._block(getattr(statement, block, []))

    def _other(self, child: ast.AST) -> None:
        if isinstance(child, ast.expr):
            self._setters.read(child)
        elif isinstance(child, ast.withitem):
            self._setters.read(child.context_expr)
        elif isinstance(child, ast.keyword):
            self._setters.read(child.value)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self._setters.read(decorator)
        outer = self._here.names, self._here.function, self._here.tests
        self._here.names, self._here.function, self._here.tests = self._here.names.within(node), node.name, []
        with self._here.switched(_sets_for_a_while(node)), self._here.in_scope(_is_fixture_that_restores(node)):
            self._block(node.body)
        self._here.names, self._here.function, self._here.tests = outer

    def _under(self, test: ast.expr, outcome: bool, body: Iterable[ast.stmt]) -> None:
        with self._here.under(test, outcome):
            self._block(body)

    def _loop(self, target: ast.expr, values: ast.expr, body: list[ast.stmt]) -> None:
        rounds = list(_rounds(target, values, self._here.names))
        if not 0 < len(rounds) <= _LONGEST_LOOP:
            self._block(body)
            return
        outer = self._here.names
        for bound in rounds:
            self._here.names = outer.bound(bound)
            self._block(body)
        self._here.names = outer


def _is_scope(context: ast.expr) -> bool:
    """Whether it is `triton.knobs.runtime.scope()`, which restores what is set within."""
    return isinstance(context, ast.Call) and isinstance(context.func, ast.Attribute) and context.func.attr == "scope"


def _leaves(body: list[ast.stmt]) -> bool:
    match body[-1]:
        case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
            return True
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(attr="exit" | "_exit" | "skip") | ast.Name(id="exit" | "quit"))
        ):
            return True
        case _:
            return False


def _catches_key_error(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.type, ast.Name) and handler.type.id == "KeyError"


def _sets_for_a_while(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it is a context manager: what it sets, somebody asked for with `with`."""
    names = {getattr(one, "id", getattr(one, "attr", "")) for one in node.decorator_list}
    return node.name == "__enter__" or bool(names & {"contextmanager", "asynccontextmanager"})


def _is_fixture_that_restores(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it is a fixture that does something after its `yield`."""
    decorators = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    if not any(getattr(one, "id", getattr(one, "attr", "")) == "fixture" for one in decorators):
        return False
    yields = [one.lineno for one in ast.walk(node) if isinstance(one, ast.Yield)]
    return bool(yields) and node.body[-1].end_lineno != min(yields)


def _rounds(target: ast.expr, values: ast.expr, names: Bindings) -> Iterator[dict[str, ast.expr]]:
    """What a loop over literals binds, a round at a time; nothing where that is not known."""
    if isinstance(target, ast.Name):
        literal = names.value(values) or values
        if isinstance(literal, ast.Tuple | ast.List | ast.Set):
            yield from ({target.id: element} for element in literal.elts)
        elif isinstance(literal, ast.Dict):
            yield from ({target.id: key} for key in literal.keys if key is not None)
    elif isinstance(target, ast.Tuple) and len(target.elts) == 2:
        key, value = target.elts
        if isinstance(key, ast.Name) and isinstance(value, ast.Name):
            for entry in entries(values, names):
                yield {key.id: entry.key, value.id: entry.value}

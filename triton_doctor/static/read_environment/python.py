"""The walk over one Python file that collects its environment settings."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.static.model_environment import EnvSetting
from triton_doctor.static.read_environment.entries import (
    Entry,
    copies_environment,
    entries,
    is_environment,
    keyword_entries,
)
from triton_doctor.static.read_environment.guards import holds, is_switch
from triton_doctor.static.read_environment.names import Names
from triton_doctor.static.read_environment.order import Program
from triton_doctor.static.read_environment.values import Reading, readings, texts
from triton_doctor.static.settings_files.shell import read_shell
from triton_doctor.variables import looks_like_triton, variables, variables_by_knob

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.finding import Span
    from triton_doctor.static.read.source import Source

_LONGEST_LOOP = 64
_ENVIRONMENT_NAMED = re.compile(
    r"(?:\w+_)?env(?:s|iron|ironment)?(?:_?(?:vars?|variables|dict|overrides|updates?|extra))?", re.IGNORECASE
)
_SHELL_CALLS = re.compile(
    r"os\.(?:system|popen)|subprocess\.(?:run|call|check_call|check_output|Popen|getoutput|getstatusoutput)"
    r"|asyncio\.create_subprocess_(?:shell|exec)|get_ipython\.system"
)
# Parameters of os.execve and its kind that hold the child's environment.
_EXEC_ENVIRONMENT = {
    "os.execve": 2,
    "os.execvpe": 2,
    "os.execle": -1,
    "os.execlpe": -1,
    "os.spawnve": 3,
    "os.spawnvpe": 3,
    "os.spawnle": -1,
    "os.spawnlpe": -1,
    "os.posix_spawn": 2,
    "os.posix_spawnp": 2,
}
# A line with none of these sets nothing, and starts nothing that does; knobs are told by their last names.
_WORTH_READING = re.compile(
    rb"env|ENV|TRI|TRT|knobs|system|popen|subprocess|setattr|getoutput|interpret|compil|dump|debug|\.run"
)
_GIVEN_AS_ENVIRONMENT = re.compile(rb"(?i:\b\w*env\w*)\s*=\s*([A-Za-z_]\w*)\s*[,)]")
_DIRECT = frozenset({"setdefault", "__setitem__"})


class Reader:
    """Reads one file; `settings` does the work."""

    def __init__(self, tree: ast.Module, source: Source) -> None:
        """Nothing of `tree` is kept after `settings` has returned."""
        self._tree = tree
        self._source = source
        self._names = Names(tree)
        self._called: dict[str, list[tuple[int, str | None, bool]]] = {}
        self._lines = source.lines_with(_WORTH_READING)
        self._function: str | None = None
        self._tests: list[tuple[ast.expr, bool]] = []
        self._switched = 0
        self._given_to_children = source.found(_GIVEN_AS_ENVIRONMENT)
        self._found: dict[tuple[str, Span], EnvSetting] = {}

    def settings(self) -> tuple[EnvSetting, ...]:
        """Every setting of the file, in order of lines."""
        if not self._lines:
            return ()
        self._block(self._tree.body)
        self._find_calls({setting.function for setting in self._found.values() if setting.function})
        program = Program(self._tree, self._names, self._called) if self._found else None
        found = sorted(self._found.values(), key=lambda setting: setting.span)
        return tuple(self._finished(setting, program) for setting in found if program)

    def _find_calls(self, functions: set[str]) -> None:
        """Reads once more, now also where a function that sets something is called."""
        if functions:
            names = "|".join(map(re.escape, sorted(functions)))
            self._lines = sorted({*self._lines, *self._source.lines_with(re.compile(names.encode()))})
            self._called.clear()
            self._block(self._tree.body)

    def _finished(self, setting: EnvSetting, program: Program) -> EnvSetting:
        calls = self._called.get(setting.function or "", [])
        only_when_switched = bool(calls) and all(guarded for _, _, guarded in calls)
        order = program.order(setting.span.line, setting.function)
        return replace(setting, guarded=setting.guarded or only_when_switched, order=order)

    def _is_worth_reading(self, statement: ast.stmt) -> bool:
        first = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])
        place = bisect_left(self._lines, first)
        return place < len(self._lines) and self._lines[place] <= (statement.end_lineno or first)

    # statements

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        depth = len(self._tests)
        for statement in statements:
            if self._is_worth_reading(statement):
                self._statement(statement)
            if (
                isinstance(statement, ast.If)
                and _leaves(statement.body)
                and not statement.orelse
                and is_switch(statement.test)
            ):
                self._tests.append((statement.test, False))
        del self._tests[depth:]

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._definition(statement)
            case ast.If(test=test, body=body, orelse=orelse):
                self._expression(test)
                self._under(test, True, body)
                self._under(test, False, orelse)
            case ast.For(target=target, iter=values, body=body, orelse=orelse):
                self._expression(values)
                self._loop(target, values, body)
                self._block(orelse)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
                self._block(body)
                for handler in handlers:
                    with self._switch(not _catches_key_error(handler)):
                        self._block(handler.body)
                self._block(orelse)
                self._block(finalbody)
            case ast.Match(subject=subject, cases=cases):
                self._expression(subject)
                for case in cases:
                    with self._switch(True):
                        self._block(case.body)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assigned(target, value)
                self._expression(value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assigned(target, value)
                self._expression(value)
            case ast.AugAssign(target=target, op=ast.BitOr(), value=value):
                if self._is_own_or_child(target):
                    self._entries(entries(value, self._names), "os.environ |=", own=is_environment(target, self._names))
                self._expression(value)
            case _:
                for child in ast.iter_child_nodes(statement):
                    if isinstance(child, ast.stmt):
                        continue
                    self._other(child)
                for block in ("body", "orelse"):
                    self._block(getattr(statement, block, []))

    def _other(self, child: ast.AST) -> None:
        if isinstance(child, ast.expr):
            self._expression(child)
        elif isinstance(child, ast.withitem):
            self._expression(child.context_expr)
        elif isinstance(child, ast.keyword):
            self._expression(child.value)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self._expression(decorator)
        outer = self._names, self._function, self._tests
        self._names, self._function, self._tests = self._names.within(node), node.name, []
        with self._switch(_sets_for_a_while(node)):
            self._block(node.body)
        self._names, self._function, self._tests = outer

    @contextmanager
    def _switch(self, on: bool) -> Iterator[None]:
        self._switched += on
        yield
        self._switched -= on

    def _under(self, test: ast.expr, outcome: bool, body: Iterable[ast.stmt]) -> None:
        self._tests.append((test, outcome))
        self._block(body)
        self._tests.pop()

    def _loop(self, target: ast.expr, values: ast.expr, body: list[ast.stmt]) -> None:
        rounds = list(_rounds(target, values, self._names))
        if not 0 < len(rounds) <= _LONGEST_LOOP:
            self._block(body)
            return
        outer = self._names
        for bound in rounds:
            self._names = outer.bound(bound)
            self._block(body)
        self._names = outer

    # what sets

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case (
                ast.Tuple(elts=targets) | ast.List(elts=targets),
                ast.Tuple(elts=values) | ast.List(elts=values),
            ) if len(targets) == len(values):
                for one, its in zip(targets, values, strict=True):
                    self._assigned(one, its)
            case ast.Subscript(value=container, slice=key), _ if self._is_own_or_child(container):
                own = is_environment(container, self._names)
                self._set(key, value, target, "os.environ" if own else "a child's environment", own=own)
            case ast.Attribute(value=owner, attr="environ"), _ if self._names.full_name(owner) == "os":
                self._entries(entries(value, self._names), "os.environ")
            case ast.Attribute(), _:
                self._knob(self._names.full_name(target), value, target)
            case _:
                pass

    def _expression(self, expr: ast.expr) -> None:
        match expr:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self._expression(test)
                for outcome, arm in ((True, body), (False, orelse)):
                    self._tests.append((test, outcome))
                    self._expression(arm)
                    self._tests.pop()
                return
            case ast.BoolOp(op=op, values=values):
                for value in values:
                    self._expression(value)
                    self._tests.append((value, isinstance(op, ast.And)))
                del self._tests[-len(values) :]
                return
            case ast.Call():
                self._call(expr)
            case ast.Dict() if copies_environment(expr, self._names):
                self._entries(entries(expr, self._names), "a child's environment", own=False)
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and _names_environment(key.value):
                        self._entries(entries(value, self._names), "a child's environment", own=False)
            case ast.BinOp(op=ast.BitOr()) if copies_environment(expr, self._names):
                self._entries(entries(expr, self._names), "a child's environment", own=False)
            case _:
                pass
        for child in ast.iter_child_nodes(expr):
            if isinstance(child, ast.expr):
                self._expression(child)
            elif isinstance(child, ast.keyword):
                self._expression(child.value)

    def _call(self, call: ast.Call) -> None:
        full = self._names.full_name(call.func) or ""
        args, keywords = call.args, call.keywords
        if isinstance(call.func, ast.Name):
            self._called.setdefault(call.func.id, []).append((call.lineno, self._function, self._is_switched(None)))
        match call.func, args:
            case ast.Attribute(value=owner, attr=attr), [key, value, *_] if attr in _DIRECT and self._is_own_or_child(
                owner
            ):
                own = is_environment(owner, self._names)
                self._set(key, value, call, f"os.environ.{attr}" if own else "a child's environment", own=own)
            case ast.Attribute(value=owner, attr="setdefault"), [] if self._is_own_or_child(owner):
                if (pair := _pair(call, ("key", "value"))) is not None:
                    self._set(*pair, call, "os.environ.setdefault", own=is_environment(owner, self._names))
            case ast.Attribute(value=owner, attr="update"), _ if self._is_own_or_child(owner):
                own = is_environment(owner, self._names)
                how = "os.environ.update" if own else "a child's environment"
                self._updated(args, keywords, how, own=own)
            case _, [key, value, *_] if full in {"os.putenv", "putenv"}:
                self._set(key, value, call, "os.putenv")
            case ast.Attribute(attr="setenv"), _ if (pair := _pair(call, ("name", "value"))) is not None:
                self._set(*pair, call, "monkeypatch.setenv")
            case ast.Attribute(attr="setitem"), [owner, key, value, *_] if is_environment(owner, self._names):
                self._set(key, value, call, "monkeypatch.setitem")
            case ast.Attribute(attr="setattr"), [owner, name, value, *_]:
                self._knob_named(owner, name, value, call)
            case ast.Name(id="setattr"), [owner, name, value]:
                self._knob_named(owner, name, value, call)
            case ast.Attribute(attr="object"), [owner, name, value, *_]:
                self._knob_named(owner, name, value, call)
            case _, [ast.Constant(value=str(target)), value, *_] if target.startswith("triton.knobs."):
                self._knob(target, value, call)
            case ast.Attribute(attr="dict"), [owner, *rest] if self._is_environment_or_its_name(owner):
                self._updated(rest, [one for one in keywords if one.arg not in {"clear", "values"}], "patch.dict")
                self._updated([one.value for one in keywords if one.arg == "values"], [], "patch.dict")
            case ast.Attribute(attr="run_line_magic"), [
                ast.Constant(value="env" | "set_env"),
                ast.Constant(value=str(line)),
            ]:
                self._magic(line, call)
            case ast.Attribute(attr="run_cell_magic"), [ast.Constant(value=str()), _, ast.Constant(value=str(text))]:
                self._shell(text, call)
            case ast.Attribute(attr="system" | "getoutput"), [ast.Constant(value=str(text))]:
                self._shell(text, call)
            case ast.Attribute(attr="env" | "from_dict" | "add_env" | "with_env"), [value, *_]:
                self._entries(entries(value, self._names), "a container's environment", own=False)
            case ast.Attribute(attr="with_env_variable" | "set_env_variable" | "add_env_variable"), [key, value, *_]:
                self._set(key, value, call, "a container's environment", own=False)
            case _, _ if full == "dotenv.set_key" and len(args) > 2:
                self._set(args[1], args[2], call, "dotenv.set_key", own=False)
            case _, _ if full in _EXEC_ENVIRONMENT and len(args) > max(1, _EXEC_ENVIRONMENT[full]):
                self._entries(entries(args[_EXEC_ENVIRONMENT[full]], self._names), full, own=False)
            case _, [command, *_] if _SHELL_CALLS.fullmatch(full):
                self._command(command, call)
            case _, [ast.Constant(value="env"), *_]:
                self._command(ast.List(elts=args, ctx=ast.Load()), call)
            case _ if copies_environment(call, self._names):
                self._entries(entries(call, self._names), "a child's environment", own=False)
            case _:
                pass
        for keyword in keywords:
            if keyword.arg is not None and _names_environment(keyword.arg):
                self._entries(entries(keyword.value, self._names), f"{keyword.arg}= of a call", own=False)

    def _updated(
        self, args: Iterable[ast.expr], keywords: Iterable[ast.keyword], how: str, *, own: bool = True
    ) -> None:
        for argument in args:
            self._entries(entries(argument, self._names), how, own=own)
        for keyword in keywords:
            self._entries(keyword_entries(keyword, self._names), how, own=own)

    def _entries(self, found: Iterable[Entry], how: str, *, own: bool = True) -> None:
        for entry in found:
            depth = len(self._tests)
            self._tests.extend(entry.tests)
            self._set(entry.key, entry.value, entry.node, how, own=own)
            del self._tests[depth:]

    def _set(self, key: ast.expr, value: ast.expr, node: ast.expr | ast.keyword, how: str, *, own: bool = True) -> None:
        for name in texts(key, self._names):
            for reading in readings(value, self._names):
                self._add(name, reading, node, how, own=own)

    def _knob_named(self, owner: ast.expr, name: ast.expr, value: ast.expr, call: ast.Call) -> None:
        if isinstance(owner, ast.Constant) and isinstance(name, ast.expr):
            self._knob(str(owner.value), name, call)
            return
        base = self._names.full_name(owner)
        for text in texts(name, self._names):
            if base is not None:
                self._knob(f"{base}.{text}", value, call)

    def _knob(self, full: str | None, value: ast.expr, node: ast.expr) -> None:
        if full is None or not full.startswith("triton.knobs."):
            return
        variable = variables_by_knob().get(full.removeprefix("triton.knobs."))
        if variable is None:
            return
        for reading in readings(value, self._names):
            text = {"True": "1", "False": "0"}.get(reading.text or "", reading.text)
            self._add(variable.name, replace(reading, text=text), node, full)

    def _magic(self, line: str, call: ast.Call) -> None:
        name, _, value = line.strip().partition("=" if "=" in line else " ")
        if value:
            self._add(name.strip(), Reading(value.strip().strip("\"'")), call, "%env")

    def _command(self, command: ast.expr, call: ast.Call) -> None:
        match self._names.value(command) or command:
            case ast.List(elts=words) | ast.Tuple(elts=words):
                known = [next(iter(texts(word, self._names)), "_") for word in words]
                quoted = (
                    known
                    if "-c" in known
                    else [word if re.fullmatch(r"[\w=./:%+,-]+", word) else "_" for word in known]
                )
                self._shell(" ".join(f"'{word}'" if " " in word else word for word in quoted), call)
            case ast.JoinedStr(values=parts):
                known = [next(iter(texts(part, self._names)), "_") for part in parts]
                self._shell("".join(known), call)
            case other:
                for text in texts(other, self._names):
                    self._shell(text, call)

    def _shell(self, text: str, node: ast.expr) -> None:
        for setting in read_shell(text):
            reading = Reading(setting.value, guarded=setting.guarded, fleeting=setting.fleeting)
            self._add(setting.variable, reading, node, "a shell command", own=False)

    def _add(self, name: str, reading: Reading, node: ast.expr | ast.keyword, how: str, *, own: bool = True) -> None:
        if not (name in variables() or name == "CUDA_VISIBLE_DEVICES" or looks_like_triton(name)):
            return
        span = self._source.span(node)
        guarded = reading.guarded or self._is_switched(name)
        earlier = self._found.get((name, span))
        if earlier is not None and (guarded or not earlier.guarded) and earlier.value != "0":
            return
        self._found[name, span] = EnvSetting(
            variable=name,
            value=reading.text,
            span=span,
            how=how,
            guarded=guarded,
            own_process=own,
            function=self._function,
            fleeting=reading.fleeting,
        )

    def _is_switched(self, variable: str | None) -> bool:
        return self._switched > 0 or any(
            holds(test, self._names, variable) is not outcome for test, outcome in self._tests
        )

    def _is_own_or_child(self, expr: ast.expr) -> bool:
        if is_environment(expr, self._names) or copies_environment(expr, self._names):
            return True
        if isinstance(expr, ast.Name):
            return expr.id in self._given_to_children
        return isinstance(expr, ast.Attribute) and expr.attr == "env" and isinstance(expr.value, ast.Name)

    def _is_environment_or_its_name(self, expr: ast.expr) -> bool:
        return is_environment(expr, self._names) or (isinstance(expr, ast.Constant) and expr.value == "os.environ")


def _names_environment(name: object) -> bool:
    return isinstance(name, str) and _ENVIRONMENT_NAMED.fullmatch(name) is not None


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


def _pair(call: ast.Call, names: tuple[str, str]) -> tuple[ast.expr, ast.expr] | None:
    given = dict(zip(names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg in names}
    return (given[names[0]], given[names[1]]) if len(given) == len(names) else None


def _rounds(target: ast.expr, values: ast.expr, names: Names) -> Iterator[dict[str, ast.expr]]:
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

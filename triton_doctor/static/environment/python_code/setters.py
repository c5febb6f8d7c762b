"""Expressions and assignments to what they set: os.environ and its kind, knobs, and the environment of a child."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from triton_doctor.static.environment.python_code.entries import (
    copies_environment,
    entries,
    is_environment,
    keyword_entries,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from triton_doctor.static.environment.python_code.collected import Collected
    from triton_doctor.static.environment.python_code.here import WalkState

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
_DIRECT = frozenset({"setdefault", "__setitem__"})


class EnvironmentSetters:
    """Reads one expression after the other `into` what is collected.

    `given` are the names of tables that children are given. `called` are the functions called by name: line, calling
    function, and whether something decides over the call.
    """

    def __init__(self, here: WalkState, into: Collected, given: Collection[str]) -> None:
        self._here = here
        self._into = into
        self._given_to_children = given
        self.called: dict[str, list[tuple[int, str | None, bool]]] = {}

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """`target = value`; what `value` does itself is not looked at."""
        match target, value:
            case (
                ast.Tuple(elts=targets) | ast.List(elts=targets),
                ast.Tuple(elts=values) | ast.List(elts=values),
            ) if len(targets) == len(values):
                for one, its in zip(targets, values, strict=True):
                    self.assign(one, its)
            case ast.Subscript(value=container, slice=key), _ if self.is_own_or_child(container):
                own = is_environment(container, self._here.names)
                self._into.set_variable(key, value, target, "os.environ" if own else "a child's environment", own=own)
            case ast.Attribute(value=owner, attr="environ"), _ if self._here.names.full_name(owner) == "os":
                self._into.add_entries(entries(value, self._here.names), "os.environ")
            case ast.Attribute(), _:
                self._into.add_knob(self._here.names.full_name(target), value, target)
            case _:
                pass

    def read(self, expr: ast.expr) -> None:
        """`expr` is evaluated."""
        match expr:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.read(test)
                for outcome, arm in ((True, body), (False, orelse)):
                    with self._here.under(test, outcome):
                        self.read(arm)
                return
            case ast.BoolOp(op=op, values=values):
                for value in values:
                    self.read(value)
                    self._here.tests.append((value, isinstance(op, ast.And)))
                del self._here.tests[-len(values) :]
                return
            case ast.Call():
                self._call(expr)
            case ast.Dict() if copies_environment(expr, self._here.names):
                self._into.add_entries(entries(expr, self._here.names), "a child's environment", own=False)
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and _names_environment(key.value):
                        self._into.add_entries(entries(value, self._here.names), "a child's environment", own=False)
            case ast.BinOp(op=ast.BitOr()) if copies_environment(expr, self._here.names):
                self._into.add_entries(entries(expr, self._here.names), "a child's environment", own=False)
            case _:
                pass
        for child in ast.iter_child_nodes(expr):
            if isinstance(child, ast.expr):
                self.read(child)
            elif isinstance(child, ast.keyword):
                self.read(child.value)

    def _call(self, call: ast.Call) -> None:
        full = self._here.names.full_name(call.func) or ""
        args, keywords = call.args, call.keywords
        if (called := _function_called(call.func)) is not None:
            self.called.setdefault(called, []).append((call.lineno, self._here.function, self._here.is_switched(None)))
        match call.func, args:
            case ast.Attribute(value=owner, attr=attr), [key, value, *_] if attr in _DIRECT and self.is_own_or_child(
                owner
            ):
                own = is_environment(owner, self._here.names)
                self._into.set_variable(
                    key, value, call, f"os.environ.{attr}" if own else "a child's environment", own=own
                )
            case ast.Attribute(value=owner, attr="setdefault"), [] if self.is_own_or_child(owner):
                if (pair := _pair(call, ("key", "value"))) is not None:
                    self._into.set_variable(
                        *pair, call, "os.environ.setdefault", own=is_environment(owner, self._here.names)
                    )
            case ast.Attribute(value=owner, attr="update"), _ if self.is_own_or_child(owner):
                own = is_environment(owner, self._here.names)
                how = "os.environ.update" if own else "a child's environment"
                self._updated(args, keywords, how, own=own)
            case _, [key, value, *_] if full in {"os.putenv", "putenv"}:
                self._into.set_variable(key, value, call, "os.putenv")
            case ast.Attribute(attr="setenv"), _ if (pair := _pair(call, ("name", "value"))) is not None:
                self._into.set_variable(*pair, call, "monkeypatch.setenv")
            case ast.Attribute(attr="setitem"), [owner, key, value, *_] if is_environment(owner, self._here.names):
                self._into.set_variable(key, value, call, "monkeypatch.setitem")
            case ast.Attribute(attr="setattr"), [owner, name, value, *_]:
                self._into.add_knob_named(owner, name, value, call)
            case ast.Name(id="setattr"), [owner, name, value]:
                self._into.add_knob_named(owner, name, value, call)
            case ast.Attribute(attr="object"), [owner, name, value, *_]:
                self._into.add_knob_named(owner, name, value, call)
            case _, [ast.Constant(value=str(target)), value, *_] if target.startswith("triton.knobs."):
                self._into.add_knob(target, value, call)
            case ast.Attribute(attr="dict"), [owner, *rest] if self._is_environment_or_its_name(owner):
                self._updated(rest, [one for one in keywords if one.arg not in {"clear", "values"}], "patch.dict")
                self._updated([one.value for one in keywords if one.arg == "values"], [], "patch.dict")
            case ast.Attribute(attr="run_line_magic"), [
                ast.Constant(value="env" | "set_env"),
                ast.Constant(value=str(line)),
            ]:
                self._into.add_magic(line, call)
            case ast.Attribute(attr="run_cell_magic"), [ast.Constant(value=str()), _, ast.Constant(value=str(text))]:
                self._into.add_shell(text, call)
            case ast.Attribute(attr="system" | "getoutput"), [ast.Constant(value=str(text))]:
                self._into.add_shell(text, call)
            case ast.Attribute(attr="env" | "from_dict" | "add_env" | "with_env"), [value, *_]:
                self._into.add_entries(entries(value, self._here.names), "a container's environment", own=False)
            case ast.Attribute(attr="with_env_variable" | "set_env_variable" | "add_env_variable"), [key, value, *_]:
                self._into.set_variable(key, value, call, "a container's environment", own=False)
            case _, _ if full == "dotenv.set_key" and len(args) > 2:
                self._into.set_variable(args[1], args[2], call, "dotenv.set_key", own=False)
            case _, _ if full in _EXEC_ENVIRONMENT and len(args) > max(1, _EXEC_ENVIRONMENT[full]):
                self._into.add_entries(entries(args[_EXEC_ENVIRONMENT[full]], self._here.names), full, own=False)
            case _, [command, *_] if _SHELL_CALLS.fullmatch(full):
                self._into.add_command(command, call)
            case _, [ast.Constant(value="env"), *_]:
                self._into.add_command(ast.List(elts=args, ctx=ast.Load()), call)
            case _ if copies_environment(call, self._here.names):
                self._into.add_entries(entries(call, self._here.names), "a child's environment", own=False)
            case _:
                pass
        for keyword in keywords:
            if keyword.arg is not None and _names_environment(keyword.arg):
                self._into.add_entries(entries(keyword.value, self._here.names), f"{keyword.arg}= of a call", own=False)

    def _updated(
        self, args: Iterable[ast.expr], keywords: Iterable[ast.keyword], how: str, *, own: bool = True
    ) -> None:
        for argument in args:
            self._into.add_entries(entries(argument, self._here.names), how, own=own)
        for keyword in keywords:
            self._into.add_entries(keyword_entries(keyword, self._here.names), how, own=own)

    def is_own_or_child(self, expr: ast.expr) -> bool:
        """Whether `expr` is os.environ, or a table that a child process is given."""
        if is_environment(expr, self._here.names) or copies_environment(expr, self._here.names):
            return True
        if isinstance(expr, ast.Name):
            return expr.id in self._given_to_children
        return isinstance(expr, ast.Attribute) and expr.attr == "env" and isinstance(expr.value, ast.Name)

    def _is_environment_or_its_name(self, expr: ast.expr) -> bool:
        return is_environment(expr, self._here.names) or (isinstance(expr, ast.Constant) and expr.value == "os.environ")


def _function_called(func: ast.expr) -> str | None:
    """The name of the function, or of the method of the same object, that calling `func` runs."""
    match func:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            return name
        case _:
            return None


def _names_environment(name: object) -> bool:
    return isinstance(name, str) and _ENVIRONMENT_NAMED.fullmatch(name) is not None


def _pair(call: ast.Call, names: tuple[str, str]) -> tuple[ast.expr, ast.expr] | None:
    given = dict(zip(names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg in names}
    return (given[names[0]], given[names[1]]) if len(given) == len(names) else None

"""Steps to settings: os.environ and its methods, knobs, and the environment of child processes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.environment.python_code.entries import (
    copies_environment,
    entries,
    is_environment,
    keyword_entries,
)
from triton_doctor.static.environment.python_code.names import unpacked
from triton_doctor.static.python.ir import (
    Attr,
    BinaryOp,
    Call,
    Conditional,
    Const,
    DictExpr,
    Expr,
    Name,
    Subscript,
    TupleExpr,
    children,
)
from triton_doctor.static.python.step import Condition

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from triton_doctor.static.environment.python_code.collected import Collected
    from triton_doctor.static.environment.python_code.context import StepContext
    from triton_doctor.static.environment.python_code.entries import Keyword
    from triton_doctor.static.python.step import ProgramStep
    from triton_doctor.static.python.trace import Trace

_ENVIRONMENT_NAMED = re.compile(
    r"(?:\w+_)?env(?:s|iron|ironment)?(?:_?(?:vars?|variables|dict|overrides|updates?|extra))?", re.IGNORECASE
)
_SHELL_CALLS = re.compile(
    r"os\.(?:system|popen)|subprocess\.(?:run|call|check_call|check_output|Popen|getoutput|getstatusoutput)"
    r"|asyncio\.create_subprocess_(?:shell|exec)|get_ipython\.system"
)
# Position of the environment among the parameters of os.execve and similar functions.
_EXEC_ENVIRONMENT = {
    **dict.fromkeys(("os.execve", "os.execvpe", "os.posix_spawn", "os.posix_spawnp"), 2),
    **dict.fromkeys(("os.spawnve", "os.spawnvpe"), 3),
    **dict.fromkeys(("os.execle", "os.execlpe", "os.spawnle", "os.spawnlpe"), -1),
}
_CHILD = "a child's environment"
_CONTAINER = "a container's environment"


class SettingCall(NamedTuple):
    """A call that sets a variable: the name is the argument at `position`, `key=` or `name=`, the value the next one.

    `how` is the form named in findings; `own` if it changes this process's environment.
    """

    how: str
    own: bool = True
    position: int = 0


_CONTAINER_CALL = SettingCall(_CONTAINER, own=False)
_SETTING_METHODS = {
    "setenv": SettingCall("monkeypatch.setenv"),
    **dict.fromkeys(("with_env_variable", "set_env_variable", "add_env_variable"), _CONTAINER_CALL),
}
_SETTING_FUNCTIONS = {
    **dict.fromkeys(("os.putenv", "putenv"), SettingCall("os.putenv")),
    "dotenv.set_key": SettingCall("dotenv.set_key", own=False, position=1),
}


class FunctionCall(NamedTuple):
    """A call at `line` in the function `caller`, or at the top level; `is_guarded` if a condition decides over it."""

    line: int
    caller: str | None
    is_guarded: bool


class Setters:
    """Reads steps in order and adds their settings to `into`. `called` collects the calls by function name."""

    def __init__(self, trace: Trace, into: Collected, given: Collection[str]) -> None:
        """`given` are the names of dictionaries that are passed to child processes."""
        self._trace = trace
        self._into = into
        self._given_to_children = given
        self.called: dict[str, list[FunctionCall]] = {}

    def read_step(self, step: ProgramStep) -> None:
        """Read `step`. The value that it assigns is a step of its own."""
        match step.target:
            case None:
                self._read(step.value)
            case target if step.operator == "|=":
                if self._is_own_or_child(target):
                    self._add_entries(step.value, "os.environ |=", own=self._is_own(target))
            case Subscript(container, key) as target if step.operator == "=" and self._is_own_or_child(container):
                own = self._is_own(container)
                self._into.set_variable(key, unpacked(step.value), target, "os.environ" if own else _CHILD, own=own)
            case Attr(owner, "environ") if self._full_name(owner) == "os":
                self._add_entries(unpacked(step.value), "os.environ")
            case Attr() as target if step.operator == "=":
                self._into.add_knob(self._full_name(target), unpacked(step.value), target)
            case _:
                pass

    def _read(self, expr: Expr) -> None:
        """Read the expression `expr`, which is evaluated."""
        match expr:
            case Conditional(None, options, operator):
                with self._here.under():
                    for option in options:
                        self._read(option)
                        self._here.conditions.append(Condition(option, operator == "and"))
                return
            case Conditional(test, (body, orelse)) if test is not None:
                self._read(test)
                for outcome, arm in ((True, body), (False, orelse)):
                    with self._here.under(Condition(test, outcome)):
                        self._read(arm)
                return
            case Call():
                self._read_call(expr)
            case DictExpr() | BinaryOp("|", _) if self._copies(expr):
                self._add_entries(expr, _CHILD, own=False)
            case DictExpr(items):
                for key, value in items:
                    if isinstance(key, Const) and _names_environment(key.value):
                        self._add_entries(value, _CHILD, own=False)
            case _:
                pass
        for part in children(expr):
            self._read(part)

    def _read_call(self, call: Call) -> None:
        self._note_called(call)
        full = self._full_name(call.func) or ""
        named = dict(call.keywords)
        pair = _pair(call.args, named)
        method = call.func.name if isinstance(call.func, Attr) else None
        known = _SETTING_FUNCTIONS.get(full) or _SETTING_METHODS.get(method or "")
        match call:
            case Call(Attr(owner, "setdefault" | "__setitem__" as method)) if pair and self._is_own_or_child(owner):
                own = self._is_own(owner)
                self._into.set_variable(*pair, call, f"os.environ.{method}" if own else _CHILD, own=own)
            case Call(Attr(owner, "update"), args, keywords) if self._is_own_or_child(owner):
                own = self._is_own(owner)
                self._update(args, keywords, "os.environ.update" if own else _CHILD, own=own)
            case Call() if known and (pair := _pair(call.args[known.position :], named)):
                self._into.set_variable(*pair, call, known.how, own=known.own)
            case Call(Attr(_, "setitem"), (owner, key, value, *_)) if self._is_own(owner):
                self._into.set_variable(key, value, call, "monkeypatch.setitem")
            case Call(Attr(_, "setattr" | "object") | Name("setattr"), (owner, name, value, *_)):
                self._into.add_knob_named(owner, name, value, call)
            case Call(_, (Const(str(target)), value, *_)) if target.startswith("triton.knobs."):
                self._into.add_knob(target, value, call)
            case Call(Attr(_, "dict"), (owner, *rest), keywords) if self._is_own(owner) or owner == Const("os.environ"):
                tables = [table for keyword, table in keywords if keyword == "values"]
                others = [one for one in keywords if one[0] not in {"clear", "values"}]
                self._update([*rest, *tables], others, "patch.dict")
            case Call(Attr(_, "run_line_magic"), (Const("env" | "set_env"), Const(str(line)))):
                self._into.add_magic(line, call)
            case Call(Attr(_, "run_cell_magic"), (Const(str()), _, Const(str(text)))):
                self._into.add_shell(text, call)
            case Call(Attr(_, "system" | "getoutput"), (Const(str(text)),)):
                self._into.add_shell(text, call)
            case Call(Attr(_, "env" | "from_dict" | "add_env" | "with_env"), (value, *_)):
                self._add_entries(value, _CONTAINER, own=False)
            case Call(_, args) if full in _EXEC_ENVIRONMENT and len(args) > max(1, _EXEC_ENVIRONMENT[full]):
                self._add_entries(args[_EXEC_ENVIRONMENT[full]], full, own=False)
            case Call(_, (command, *_)) if _SHELL_CALLS.fullmatch(full):
                self._into.add_command(command, call)
            case Call(_, (Const("env"), *_)):
                self._into.add_command(TupleExpr(call.args), call)
            case _ if self._copies(call):
                self._add_entries(call, _CHILD, own=False)
            case _:
                pass
        for keyword, given in call.keywords:
            if _names_environment(keyword):
                self._add_entries(given, f"{keyword}= of a call", own=False)

    def _note_called(self, call: Call) -> None:
        """Record a call of a function, or of a method of the same object."""
        match call.func:
            case Name(name) | Attr(Name("self" | "cls"), name):
                line = self._trace.lowering.span(call).line
                made = FunctionCall(line, self._here.function, self._here.is_switched(None))
                self.called.setdefault(name, []).append(made)

    def _update(self, args: Iterable[Expr], keywords: Iterable[Keyword], how: str, *, own: bool = True) -> None:
        for argument in args:
            self._add_entries(argument, how, own=own)
        for keyword in keywords:
            self._into.add_entries(keyword_entries(keyword, self._here.names), how, own=own)

    def _add_entries(self, table: Expr, how: str, *, own: bool = True) -> None:
        self._into.add_entries(entries(table, self._here.names), how, own=own)

    @property
    def _here(self) -> StepContext:
        return self._into.here

    def _full_name(self, expr: Expr) -> str | None:
        return self._here.names.full_name(expr)

    def _is_own(self, expr: Expr) -> bool:
        return is_environment(expr, self._here.names)

    def _copies(self, expr: Expr) -> bool:
        return copies_environment(expr, self._here.names)

    def _is_own_or_child(self, expr: Expr) -> bool:
        """Return whether `expr` is os.environ, or a dictionary passed to a child process."""
        if self._is_own(expr) or self._copies(expr):
            return True
        match expr:
            case Name(name):
                return name in self._given_to_children
            case _:
                return isinstance(expr, Attr) and expr.name == "env" and isinstance(expr.base, Name)


def _names_environment(name: object) -> bool:
    return isinstance(name, str) and _ENVIRONMENT_NAMED.fullmatch(name) is not None


def _pair(args: tuple[Expr, ...], named: dict[str | None, Expr]) -> tuple[Expr, Expr] | None:
    """Return the name and value arguments of a call, given by position or keyword."""
    key = args[0] if args else named.get("key", named.get("name"))
    value = args[1] if len(args) > 1 else named.get("value")
    return (key, value) if key is not None and value is not None else None

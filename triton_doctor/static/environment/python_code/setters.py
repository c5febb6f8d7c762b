"""Expressions and assignments to settings: os.environ and its methods, knobs, the environment of child processes."""

from __future__ import annotations

import ast
import re
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.environment.python_code.names import Condition, holds, pairs_of
from triton_doctor.static.environment.python_code.possible_texts import (
    PossibleText,
    copies_environment,
    entries,
    keyword_entries,
    readings,
    texts,
)
from triton_doctor.static.environment.setting import EnvSetting, is_watched
from triton_doctor.variables import variables_by_knob

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from triton_doctor.finding import Span
    from triton_doctor.static.environment.python_code.names import Names
    from triton_doctor.static.environment.python_code.possible_texts import DictEntry
    from triton_doctor.static.sources.source_text import SourceText

    ReadShell = Callable[[str], Iterable[EnvSetting]]

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
# Settings that the tool reverts when the test or block ends.
_UNDOING = frozenset({"monkeypatch.setenv", "monkeypatch.setitem", "patch.dict"})
_PLAIN_WORD = re.compile(r"[\w=./:%+,-]+")


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
    """A call at `line` in the function `caller`, or at the top level, under `conditions`."""

    line: int
    caller: str | None
    conditions: tuple[Condition, ...]
    names: Names

    @property
    def is_guarded(self) -> bool:
        """Return whether a condition decides over the call."""
        return any(holds(condition.test, self.names) is not condition.outcome for condition in self.conditions)


class Setters:
    """Collects settings by variable and position. The walk sets the context: `names`, `conditions` and the two flags.

    `is_undone` says that settings here are reverted at the end of a block or a test, `is_asked_for` that a `with`
    statement of the user makes them. `called` has the calls by function name.
    """

    names: Names

    def __init__(self, source: SourceText, read_shell: ReadShell, given: Collection[str]) -> None:
        """`given` are the names of dictionaries that are passed to child processes."""
        self._source = source
        self._read_shell = read_shell
        self._given_to_children = given
        self.found: dict[tuple[str, Span], EnvSetting] = {}
        self.called: dict[str, list[FunctionCall]] = {}
        self.conditions: list[Condition] = []
        self.is_undone = False
        self.is_asked_for = False

    @contextmanager
    def under(self, *conditions: Condition) -> Iterator[None]:
        """Add `conditions` inside the `with` block."""
        depth = len(self.conditions)
        self.conditions += conditions
        yield
        del self.conditions[depth:]

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """Read `target = value`. The value is an expression of its own, for `evaluate`."""
        for part, its in pairs_of(target, value):
            match part:
                case ast.Subscript(container, key) if self._is_own_or_child(container):
                    own = self.names.is_environment(container)
                    self._set(key, its, part, "os.environ" if own else _CHILD, own=own)
                case ast.Attribute(owner, "environ") if self.names.full_name(owner) == "os":
                    self._add_entries(its, "os.environ")
                case ast.Attribute():
                    self._add_knob(self.names.full_name(part), its, part)

    def update(self, target: ast.expr, value: ast.expr) -> None:
        """Read `target |= value`."""
        if self._is_own_or_child(target):
            self._add_entries(value, "os.environ |=", own=self.names.is_environment(target))

    def evaluate(self, expr: ast.expr) -> None:
        """Read the expression `expr`, which is evaluated."""
        match expr:
            case ast.BoolOp(operator, options):
                with self.under():
                    for option in options:
                        self.evaluate(option)
                        self.conditions.append(Condition(option, isinstance(operator, ast.And)))
                return
            case ast.IfExp(test, body, orelse):
                self.evaluate(test)
                for outcome, arm in ((True, body), (False, orelse)):
                    with self.under(Condition(test, outcome)):
                        self.evaluate(arm)
                return
            case ast.Call():
                self._read_call(expr)
            case ast.Dict() | ast.BinOp(_, ast.BitOr()) if self._copies(expr):
                self._add_entries(expr, _CHILD, own=False)
            case ast.Dict(keys, values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and _names_environment(key.value):
                        self._add_entries(value, _CHILD, own=False)
        for part in ast.iter_child_nodes(expr):
            if isinstance(part, ast.expr):
                self.evaluate(part)
            elif isinstance(part, ast.keyword):
                self.evaluate(part.value)
            elif isinstance(part, ast.comprehension):
                for inner in (part.iter, *part.ifs):
                    self.evaluate(inner)

    def _read_call(self, call: ast.Call) -> None:
        self._note_called(call)
        names = self.names
        full = names.full_name(call.func) or ""
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        pair = _pair(call.args, named)
        known = _SETTING_FUNCTIONS.get(full)
        if known is None and isinstance(call.func, ast.Attribute):
            known = _SETTING_METHODS.get(call.func.attr)
        match call:
            case ast.Call(ast.Attribute(owner, "setdefault" | "__setitem__" as method)) if (
                pair and self._is_own_or_child(owner)
            ):
                own = names.is_environment(owner)
                self._set(*pair, call, f"os.environ.{method}" if own else _CHILD, own=own)
            case ast.Call(ast.Attribute(owner, "update"), args, keywords) if self._is_own_or_child(owner):
                own = names.is_environment(owner)
                self._update(args, keywords, "os.environ.update" if own else _CHILD, own=own)
            case ast.Call() if known and (pair := _pair(call.args[known.position :], named)):
                self._set(*pair, call, known.how, own=known.own)
            case ast.Call(ast.Attribute(_, "setitem"), [owner, key, value, *_]) if names.is_environment(owner):
                self._set(key, value, call, "monkeypatch.setitem")
            case ast.Call(ast.Attribute(_, "setattr" | "object") | ast.Name("setattr"), [owner, name, value, *_]):
                self._add_knob_named(owner, name, value, call)
            case ast.Call(_, [ast.Constant(str(target)), value, *_]) if target.startswith("triton.knobs."):
                self._add_knob(target, value, call)
            case ast.Call(ast.Attribute(_, "dict"), [owner, *rest], keywords) if names.is_environment(owner) or (
                isinstance(owner, ast.Constant) and owner.value == "os.environ"
            ):
                tables = [keyword.value for keyword in keywords if keyword.arg == "values"]
                others = [keyword for keyword in keywords if keyword.arg not in {"clear", "values"}]
                self._update([*rest, *tables], others, "patch.dict")
            case ast.Call(
                ast.Attribute(_, "run_line_magic"), [ast.Constant("env" | "set_env"), ast.Constant(str(line))]
            ):
                variable, _, text = line.strip().partition("=" if "=" in line else " ")
                if text:
                    self._add(variable.strip(), PossibleText(text.strip().strip("\"'")), call, "%env")
            case ast.Call(ast.Attribute(_, "run_cell_magic"), [ast.Constant(str()), _, ast.Constant(str(text))]):
                self._add_shell(text, call)
            case ast.Call(ast.Attribute(_, "system" | "getoutput"), [ast.Constant(str(text))]):
                self._add_shell(text, call)
            case ast.Call(ast.Attribute(_, "env" | "from_dict" | "add_env" | "with_env"), [value, *_]):
                self._add_entries(value, _CONTAINER, own=False)
            case ast.Call(_, args) if full in _EXEC_ENVIRONMENT and len(args) > max(1, _EXEC_ENVIRONMENT[full]):
                self._add_entries(args[_EXEC_ENVIRONMENT[full]], full, own=False)
            case ast.Call(_, [command, *_]) if _SHELL_CALLS.fullmatch(full):
                self._add_command(command, call)
            case ast.Call(_, [ast.Constant("env"), *_] as words):
                self._add_command(ast.Tuple(words), call)
            case _ if self._copies(call):
                self._add_entries(call, _CHILD, own=False)
        for keyword in call.keywords:
            if _names_environment(keyword.arg):
                self._add_entries(keyword.value, f"{keyword.arg}= of a call", own=False)

    def _note_called(self, call: ast.Call) -> None:
        """Record a call of a function, or of a method of the same object."""
        match call.func:
            case ast.Name(name) | ast.Attribute(ast.Name("self" | "cls"), name):
                made = FunctionCall(call.lineno, self.names.scope.name, tuple(self.conditions), self.names)
                self.called.setdefault(name, []).append(made)

    def _update(self, args: Iterable[ast.expr], keywords: Iterable[ast.keyword], how: str, *, own: bool = True) -> None:
        for argument in args:
            self._add_entries(argument, how, own=own)
        for keyword in keywords:
            self._add_each(keyword_entries(keyword, self.names), how, own=own)

    def _add_entries(self, table: ast.expr, how: str, *, own: bool = True) -> None:
        self._add_each(entries(table, self.names), how, own=own)

    def _add_each(self, found: Iterable[DictEntry], how: str, *, own: bool) -> None:
        for entry in found:
            with self.under(*entry.conditions):
                self._set(entry.key, entry.value, entry.part, how, own=own)

    def _set(self, key: ast.expr, value: ast.expr, part: ast.expr | ast.keyword, how: str, *, own: bool = True) -> None:
        """Add `key = value`, if the key is known. The value may be unknown."""
        for name in texts(key, self.names):
            for reading in readings(value, self.names):
                self._add(name, reading, part, how, own=own)

    def _add_knob_named(self, owner: ast.expr, name: ast.expr, value: ast.expr, call: ast.expr) -> None:
        """Add `setattr(owner, name, value)`, or monkeypatch's form with a dotted name instead of `owner` and `name`."""
        if isinstance(owner, ast.Constant):
            self._add_knob(str(owner.value), name, call)
        elif (base := self.names.full_name(owner)) is not None:
            for text in texts(name, self.names):
                self._add_knob(f"{base}.{text}", value, call)

    def _add_knob(self, full: str | None, value: ast.expr, part: ast.expr) -> None:
        """Add the knob of triton with the full name `full`, set to `value`."""
        if full is None or not full.startswith("triton.knobs."):
            return
        variable = variables_by_knob().get(full.removeprefix("triton.knobs."))
        if variable is None:
            return
        for reading in readings(value, self.names):
            text = {"True": "1", "False": "0"}.get(reading.text or "", reading.text)
            self._add(variable.name, replace(reading, text=text), part, full)

    def _add_command(self, command: ast.expr, call: ast.expr) -> None:
        """Add the settings of a command that is started, given as a text or a list of words."""
        match self.names.value(command) or command:
            case ast.Tuple(items) | ast.List(items):
                words = [next(texts(item, self.names), "_") for item in items]
                if "-c" not in words:
                    words = [word if _PLAIN_WORD.fullmatch(word) else "_" for word in words]
                self._add_shell(" ".join(f"'{word}'" if " " in word else word for word in words), call)
            case ast.JoinedStr(parts):
                self._add_shell("".join(next(texts(part, self.names), "_") for part in parts), call)
            case other:
                for text in texts(other, self.names):
                    self._add_shell(text, call)

    def _add_shell(self, text: str, part: ast.expr) -> None:
        for setting in self._read_shell(text):
            reading = PossibleText(setting.value, guarded=setting.guarded, fleeting=setting.fleeting)
            self._add(setting.variable, reading, part, "a shell command", own=False)

    def _add(
        self, name: str, reading: PossibleText, part: ast.expr | ast.keyword, how: str, *, own: bool = True
    ) -> None:
        """Add the variable `name`, set at `part`.

        For several values at one position, the first that is not 0 is kept.
        """
        if not is_watched(name):
            return
        span = self._source.span(part)
        guarded = reading.guarded or self._is_switched(name)
        earlier = self.found.get((name, span))
        if earlier is not None and (guarded or not earlier.guarded) and earlier.value != "0":
            return
        function = self.names.scope.name
        self.found[name, span] = EnvSetting(
            variable=name,
            value=reading.text,
            span=span,
            how=how,
            guarded=guarded,
            own_process=own,
            function=function,
            fleeting=reading.fleeting,
            is_brief=self.is_undone or how in _UNDOING or (function or "").startswith("test_"),
        )

    def _is_switched(self, variable: str) -> bool:
        """Return whether a condition decides over the current part; a test for `variable` alone does not count."""
        return self.is_asked_for or any(
            holds(condition.test, self.names, variable) is not condition.outcome for condition in self.conditions
        )

    def _copies(self, expr: ast.expr) -> bool:
        return copies_environment(expr, self.names)

    def _is_own_or_child(self, expr: ast.expr) -> bool:
        """Return whether `expr` is os.environ, or a dictionary passed to a child process."""
        if self.names.is_environment(expr) or self._copies(expr):
            return True
        match expr:
            case ast.Name(name):
                return name in self._given_to_children
            case _:
                return isinstance(expr, ast.Attribute) and expr.attr == "env" and isinstance(expr.value, ast.Name)


def _names_environment(name: object) -> bool:
    return isinstance(name, str) and _ENVIRONMENT_NAMED.fullmatch(name) is not None


def _pair(args: list[ast.expr], named: dict[str | None, ast.expr]) -> tuple[ast.expr, ast.expr] | None:
    """Return the name and value arguments of a call, given by position or keyword."""
    key = args[0] if args else named.get("key", named.get("name"))
    value = args[1] if len(args) > 1 else named.get("value")
    return (key, value) if key is not None and value is not None else None

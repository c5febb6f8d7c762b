"""The settings collected so far from a Python file: assignments, dict entries, knobs, and shell commands."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.static.environment.python_code.values import PossibleText, readings, texts
from triton_doctor.static.environment.setting import EnvSetting
from triton_doctor.static.python.ir import Const, Expr, Opaque, TupleExpr
from triton_doctor.variables import looks_like_triton, variables, variables_by_knob

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from triton_doctor.finding import Span
    from triton_doctor.static.environment.python_code.context import StepContext
    from triton_doctor.static.environment.python_code.entries import DictEntry, Keyword
    from triton_doctor.static.python.trace import Trace

    ReadShell = Callable[[str], Iterable[EnvSetting]]

# Settings that the tool reverts when the test or block ends.
_UNDOING = frozenset({"monkeypatch.setenv", "monkeypatch.setitem", "patch.dict"})
_PLAIN_WORD = re.compile(r"[\w=./:%+,-]+")


class Collected:
    """The settings found so far, by variable and position. `here` is the context of the step being read."""

    here: StepContext

    def __init__(self, trace: Trace, read_shell: ReadShell) -> None:
        """`read_shell` reads the shell commands that the program runs."""
        self._trace = trace
        self._read_shell = read_shell
        self.found: dict[tuple[str, Span], EnvSetting] = {}

    def add_entries(self, found: Iterable[DictEntry], how: str, *, own: bool = True) -> None:
        """Add a setting for each of `found`; `own` if it is in this process's environment."""
        for entry in found:
            with self.here.under(*entry.conditions):
                self.set_variable(entry.key, entry.value, entry.part, how, own=own)

    def set_variable(self, key: Expr, value: Expr, part: Expr | Keyword, how: str, *, own: bool = True) -> None:
        """Add `key = value`, if the key is known. The value may be unknown."""
        for name in texts(key, self.here.names):
            for reading in readings(value, self.here.names):
                self.add(name, reading, part, how, own=own)

    def add_knob_named(self, owner: Expr, name: Expr, value: Expr, call: Expr) -> None:
        """Add `setattr(owner, name, value)`, or monkeypatch's form with a dotted name instead of `owner` and `name`."""
        if isinstance(owner, Const):
            self.add_knob(str(owner.value), name, call)
        elif (base := self.here.names.full_name(owner)) is not None:
            for text in texts(name, self.here.names):
                self.add_knob(f"{base}.{text}", value, call)

    def add_knob(self, full: str | None, value: Expr, part: Expr) -> None:
        """Add the knob of triton with the full name `full`, set to `value`."""
        if full is None or not full.startswith("triton.knobs."):
            return
        variable = variables_by_knob().get(full.removeprefix("triton.knobs."))
        if variable is None:
            return
        for reading in readings(value, self.here.names):
            text = {"True": "1", "False": "0"}.get(reading.text or "", reading.text)
            self.add(variable.name, replace(reading, text=text), part, full)

    def add_magic(self, line: str, call: Expr) -> None:
        """Add IPython's `%env X=1`."""
        name, _, value = line.strip().partition("=" if "=" in line else " ")
        if value:
            self.add(name.strip(), PossibleText(value.strip().strip("\"'")), call, "%env")

    def add_command(self, command: Expr, call: Expr) -> None:
        """Add the settings of a command that is started, given as a text or a list of words."""
        match self.here.names.value(command) or command:
            case TupleExpr(items):
                words = [next(texts(item, self.here.names), "_") for item in items]
                if "-c" not in words:
                    words = [word if _PLAIN_WORD.fullmatch(word) else "_" for word in words]
                self.add_shell(" ".join(f"'{word}'" if " " in word else word for word in words), call)
            case Opaque("JoinedStr", parts):
                self.add_shell("".join(next(texts(part, self.here.names), "_") for part in parts), call)
            case other:
                for text in texts(other, self.here.names):
                    self.add_shell(text, call)

    def add_shell(self, text: str, part: Expr) -> None:
        """Add the settings of the shell text `text`."""
        for setting in self._read_shell(text):
            reading = PossibleText(setting.value, guarded=setting.guarded, fleeting=setting.fleeting)
            self.add(setting.variable, reading, part, "a shell command", own=False)

    def add(self, name: str, reading: PossibleText, part: Expr | Keyword, how: str, *, own: bool = True) -> None:
        """Add the variable `name`, set at `part`.

        For several values at one position, the first that is not 0 is kept.
        """
        if not (name in variables() or name == "CUDA_VISIBLE_DEVICES" or looks_like_triton(name)):
            return
        span = self._trace.lowering.span(part)
        guarded = reading.guarded or self.here.is_switched(name)
        earlier = self.found.get((name, span))
        if earlier is not None and (guarded or not earlier.guarded) and earlier.value != "0":
            return
        function = self.here.function
        self.found[name, span] = EnvSetting(
            variable=name,
            value=reading.text,
            span=span,
            how=how,
            guarded=guarded,
            own_process=own,
            function=function,
            fleeting=reading.fleeting,
            is_brief=self.here.is_undone or how in _UNDOING or (function or "").startswith("test_"),
        )

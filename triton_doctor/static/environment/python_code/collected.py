"""The settings that the walk over a file has met: assignments, entries of tables, knobs, and what a shell runs."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.static.environment.python_code.values import PossibleText, readings, texts
from triton_doctor.static.environment.setting import EnvSetting
from triton_doctor.variables import looks_like_triton, variables, variables_by_knob

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from triton_doctor.finding import Span
    from triton_doctor.static.environment.python_code.entries import DictEntry
    from triton_doctor.static.environment.python_code.here import WalkState
    from triton_doctor.static.sources.source_text import SourceText

    ReadShell = Callable[[str], Iterable[EnvSetting]]

# Settings that their tool takes back when the test or the block ends.
UNDOING = frozenset({"monkeypatch.setenv", "monkeypatch.setitem", "patch.dict"})


class Collected:
    """What was found so far, by variable and place; `here` is where the walk stands."""

    def __init__(self, here: WalkState, source: SourceText, read_shell: ReadShell) -> None:
        self._read_shell = read_shell
        self._here = here
        self._source = source
        self.found: dict[tuple[str, Span], EnvSetting] = {}

    def add_entries(self, found: Iterable[DictEntry], how: str, *, own: bool = True) -> None:
        """Each of `found` sets a variable; `own` where it is this process's."""
        for entry in found:
            depth = len(self._here.tests)
            self._here.tests.extend(entry.tests)
            self.set_variable(entry.key, entry.value, entry.node, how, own=own)
            del self._here.tests[depth:]

    def set_variable(
        self, key: ast.expr, value: ast.expr, node: ast.expr | ast.keyword, how: str, *, own: bool = True
    ) -> None:
        """`key` is set to `value`, as far as both are known."""
        for name in texts(key, self._here.names):
            for reading in readings(value, self._here.names):
                self.add(name, reading, node, how, own=own)

    def add_knob_named(self, owner: ast.expr, name: ast.expr, value: ast.expr, call: ast.Call) -> None:
        """`setattr(owner, name, value)`, or monkeypatch's with a dotted name in place of the first two."""
        if isinstance(owner, ast.Constant) and isinstance(name, ast.expr):
            self.add_knob(str(owner.value), name, call)
            return
        base = self._here.names.full_name(owner)
        for text in texts(name, self._here.names):
            if base is not None:
                self.add_knob(f"{base}.{text}", value, call)

    def add_knob(self, full: str | None, value: ast.expr, node: ast.expr) -> None:
        """A knob of triton, by its full name, is set to `value`."""
        if full is None or not full.startswith("triton.knobs."):
            return
        variable = variables_by_knob().get(full.removeprefix("triton.knobs."))
        if variable is None:
            return
        for reading in readings(value, self._here.names):
            text = {"True": "1", "False": "0"}.get(reading.text or "", reading.text)
            self.add(variable.name, replace(reading, text=text), node, full)

    def add_magic(self, line: str, call: ast.Call) -> None:
        """`%env X=1`."""
        name, _, value = line.strip().partition("=" if "=" in line else " ")
        if value:
            self.add(name.strip(), PossibleText(value.strip().strip("\"'")), call, "%env")

    def add_command(self, command: ast.expr, call: ast.Call) -> None:
        """A command, as a text or as a list of words, is started."""
        match self._here.names.value(command) or command:
            case ast.List(elts=words) | ast.Tuple(elts=words):
                known = [next(iter(texts(word, self._here.names)), "_") for word in words]
                quoted = (
                    known
                    if "-c" in known
                    else [word if re.fullmatch(r"[\w=./:%+,-]+", word) else "_" for word in known]
                )
                self.add_shell(" ".join(f"'{word}'" if " " in word else word for word in quoted), call)
            case ast.JoinedStr(values=parts):
                known = [next(iter(texts(part, self._here.names)), "_") for part in parts]
                self.add_shell("".join(known), call)
            case other:
                for text in texts(other, self._here.names):
                    self.add_shell(text, call)

    def add_shell(self, text: str, node: ast.expr) -> None:
        """A shell runs `text`."""
        for setting in self._read_shell(text):
            reading = PossibleText(setting.value, guarded=setting.guarded, fleeting=setting.fleeting)
            self.add(setting.variable, reading, node, "a shell command", own=False)

    def add(
        self, name: str, reading: PossibleText, node: ast.expr | ast.keyword, how: str, *, own: bool = True
    ) -> None:
        """The variable `name` is set at `node`; of several values for one place the first that is no 0 stays."""
        if not (name in variables() or name == "CUDA_VISIBLE_DEVICES" or looks_like_triton(name)):
            return
        span = self._source.span(node)
        guarded = reading.guarded or self._here.is_switched(name)
        earlier = self.found.get((name, span))
        if earlier is not None and (guarded or not earlier.guarded) and earlier.value != "0":
            return
        self.found[name, span] = EnvSetting(
            variable=name,
            value=reading.text,
            span=span,
            how=how,
            guarded=guarded,
            own_process=own,
            function=self._here.function,
            fleeting=reading.fleeting,
            is_brief=self._here.is_undone or how in UNDOING or (self._here.function or "").startswith("test_"),
        )

"""Shell scripts to settings: commands, pipelines, groups and here-documents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.finding import Span
from triton_doctor.nesting import with_own_stack
from triton_doctor.static.environment.python_code.program import Program
from triton_doctor.static.environment.settings_files.shell_commands import Commands
from triton_doctor.static.environment.settings_files.shell_guards import Guards
from triton_doctor.static.environment.settings_files.shell_printed import (
    Groups,
    Printed,
    is_environment_file,
    read_assignments,
    read_printed,
)
from triton_doctor.static.environment.settings_files.shell_words import HereDocument, Lexer, Operator, Word, program
from triton_doctor.static.python.pieces import parse
from triton_doctor.static.sources.source_text import SourceText

if TYPE_CHECKING:
    from triton_doctor.static.environment.setting import EnvSetting

_DEEPEST = 6
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish", "ash"})


def read_shell(text: str, line: int = 1, column: int = 1, *, depth: int = _DEEPEST) -> tuple[EnvSetting, ...]:
    """Return the settings that the commands of `text` make; it begins at `line` and `column` of its file."""
    if depth == 0 or not text.strip():
        return ()
    return tuple(_Shell(text, line, column, depth).settings())


def _read_python(text: str) -> tuple[EnvSetting, ...]:
    """Return the settings of the Python program `text`, at its own line numbers; none if it does not parse."""
    try:
        return with_own_stack(_settings_of, text.encode("utf-8", "replace"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _settings_of(source: bytes) -> tuple[EnvSetting, ...]:
    return Program(parse(source), SourceText(source)).settings(read_shell)


class _Shell:
    def __init__(self, text: str, line: int, column: int, depth: int) -> None:
        self._depth = depth
        self._guards = Guards()
        self._groups = Groups()
        self._commands = Commands(self._guards, self._read, _read_python)
        self._lexer = Lexer(text, line, column, self._commands.known)
        self._words: list[Word] = []
        self._targets: list[Word] = []
        # The output of a pipe, or of the group that was just closed.
        self._piped: list[Printed] = []
        self._closed: list[Printed] = []
        # The command that waits for a here-document: its words, how many of them are before `<<`, and its targets.
        self._waiting: tuple[list[Word], int, list[Word]] = ([], 0, [])

    def settings(self) -> tuple[EnvSetting, ...]:
        redirect: str | None = None
        while (piece := self._lexer.next()) is not None:
            match piece:
                case HereDocument():
                    self._document(piece)
                    redirect = None
                case Word():
                    if redirect is not None:
                        self._targets += [piece] if ">" in redirect else []
                        redirect = None
                    else:
                        self._words.append(piece)
                    self._commands.assign_within(piece)
                case Operator(text=text) if "<" in text or (">" in text):
                    redirect = text if text not in {"<<", "<<-", ">&", "<&"} else None
                    if text in {"<<", "<<-"}:
                        self._waiting = (self._words, len(self._words), self._targets)
                case Operator(text=text):
                    self._end(text)
        self._end("newline")
        return tuple({(setting.variable, setting.span): setting for setting in self._commands.finished()}.values())

    def _end(self, operator: str) -> None:
        """Process the command that was read, which `operator` ends."""
        words, targets = self._words, self._targets
        if words and (words[0].text or "").endswith("tee"):
            self._commands.found += read_printed(self._piped, words[1:])
        self._commands.run(words, targets)
        printed = self._groups.add(words, guarded=self._guards.decide(None)) or self._closed
        if not (words and words[0].text in {"echo", "printf"}):
            self._commands.found += read_printed(printed, targets)
        self._guards.join(operator, words)
        self._piped = printed if operator == "|" else []
        if operator == "(":
            self._groups.begin()
        self._closed = self._groups.end() if operator == ")" else []
        self._words, self._targets = [], []

    def _document(self, document: HereDocument) -> None:
        piped = self._words
        waiting, before, targets = self._waiting
        words = waiting[:before]
        self._waiting = ([], 0, [])
        targets = [*targets, *piped] if program(piped) == "tee" else targets
        self._commands.run(words, targets)
        first = program(words)
        if first.startswith("python"):
            for setting in _read_python(document.text):
                span = _below(setting.span, document.line)
                guarded = setting.guarded or self._guards.decide(setting.variable)
                self._commands.found.append(replace(setting, span=span, guarded=guarded))
        elif first in _SHELLS | {"ssh", "sbatch", "srun"}:
            self._commands.extend(self._read(document.text, document.line, 1))
        elif any(map(is_environment_file, [*targets, *words[1:]])):
            self._commands.extend(read_assignments(document.text, document.line, "a file of variables"))
        self._guards.join("newline", words)
        self._words, self._targets = [], []

    def _read(self, text: str, line: int, column: int) -> tuple[EnvSetting, ...]:
        return read_shell(text, line, column, depth=self._depth - 1)


def _below(span: Span, first: int) -> Span:
    """Return `span`, of a text that begins at line `first` of its file, as a span of the file."""
    return Span(span.line + first - 1, span.column, span.end_line + first - 1, span.end_column)

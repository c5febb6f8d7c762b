"""Settings that a shell prints to a file which a later shell or CI step reads: `echo X=1 >> $GITHUB_ENV`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from triton_doctor.finding import Span
from triton_doctor.static.environment.setting import EnvSetting, is_watched

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.static.environment.settings_files.shell_words import Word

_ENVIRONMENT_FILE = re.compile(
    r"GITHUB_ENV|BASH_ENV|bashrc|profile|/etc/environment|zshrc|zshenv|\.env\w*$|environment\.d|activate"
)
_SETS_VARIABLE = re.compile(
    r"##vso\[task\.setvariable variable=(\w+)[^\]]{0,200}\]([^\"'\s]*)|::set-env name=(\w+)::([^\"'\s]*)"
)
_HOW = "a file of variables"
_MOST_GROUPS = 8
_OPENS, _CLOSES = frozenset({"{", "do"}), frozenset({"}", "done"})
_PASSED = frozenset({"then", "else", "!", "time"})


@dataclass(frozen=True, slots=True)
class Printed:
    """The words of an `echo` or `printf`; `guarded` if a test decides over it."""

    words: Sequence[Word]
    guarded: bool


class Groups:
    """The output of commands grouped by `{` and `}`, `(` and `)`, `do` and `done`."""

    def __init__(self) -> None:
        self._open: list[list[Printed]] = [[]]
        self._deeper = 0

    def begin(self) -> None:
        """Open a group. One that is too deep has no output of its own."""
        if len(self._open) > _MOST_GROUPS:
            self._deeper += 1
        else:
            self._open.append([])

    def end(self) -> list[Printed]:
        """Close the innermost group and return its output."""
        if self._deeper or len(self._open) == 1:
            self._deeper = max(0, self._deeper - 1)
            return []
        printed = self._open.pop()
        self._open[-1] += printed
        return printed

    def add(self, words: Sequence[Word], *, guarded: bool) -> list[Printed]:
        """Process the end of the command `words`; return its output, or that of the group that it closes."""
        printed: list[Printed] = []
        for number, word in enumerate(words):
            if not word.quoted and word.text in _OPENS:
                self.begin()
            elif not word.quoted and word.text in _CLOSES:
                printed = self.end()
            elif word.quoted or word.text not in _PASSED:
                if word.text in {"echo", "printf"}:
                    printed = [Printed(words[number:], guarded)]
                    self._open[-1] += printed
                break
        return printed


def is_environment_file(word: Word) -> bool:
    """Return whether `word` names a file of variables."""
    return _ENVIRONMENT_FILE.search(word.raw.strip("\"'")) is not None


def read_printed(printed: Iterable[Printed], targets: Iterable[Word]) -> Iterator[EnvSetting]:
    """Yield the settings printed to `targets`, if one of these is a file of variables."""
    if not any(map(is_environment_file, targets)):
        return
    for command in printed:
        for word in command.words[1:]:
            text = word.text if word.text is not None else word.raw.strip("\"'")
            for setting in read_assignments(text.replace("\\n", "\n"), word.span.line, _HOW):
                yield replace(setting, span=word.span, guarded=command.guarded)


def announced(args: Iterable[Word]) -> Iterator[tuple[str, str, Word]]:
    """Yield names and values that CI reads from the output: `echo "##vso[task.setvariable variable=X]1"`."""
    for word in args:
        for match in _SETS_VARIABLE.finditer(word.text or word.raw):
            yield match[1] or match[3], match[2] or match[4], word


def read_assignments(text: str, line: int, how: str) -> Iterable[EnvSetting]:
    """Return the settings of lines such as `X=1` or `export X=1`, which begin at `line`."""
    for number, content in enumerate(text.splitlines(), line):
        match = re.match(
            r"\s*(?:export\s+|set\s+-g?x\s+)?([A-Za-z_]\w*)[ \t]*=[ \t]*(\"[^\"]*\"|'[^']*'|[^#\s]*)", content
        )
        if match and is_watched(match[1]):
            value = match[2].strip("\"'")
            span = Span(number, match.start(1) + 1, number, match.end(2) + 1)
            yield EnvSetting(variable=match[1], value=None if "$" in value else value, span=span, how=how)

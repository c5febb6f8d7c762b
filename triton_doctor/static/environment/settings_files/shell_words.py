"""Shell text to words and operators: quotes, comments, line continuations, here-documents, substitutions."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triton_doctor.finding import Span
from triton_doctor.static.environment.setting import MAYBE_EMPTY, fleeting_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triton_doctor.static.environment.setting import Fleeting

_OPERATORS = ("&&", "||", ";;", ";", "|", "&", "(", ")")
_REDIRECT = re.compile(r"\d*(?:<<-?(?!<)|<<<|&>>|&>|>>|>\||<>|>&|<&|>|<)")
# A longer value is not filled in: `X=$X$X` doubles it.
_LONGEST_VALUE = 4096
_NAME = re.compile(r"[A-Za-z_]\w*")
_SPECIAL = frozenset("$!#?@*-0123456789")

# An assignment before a command, and the words that begin or end a block.
ASSIGNMENT = re.compile(r"[\"']?([A-Za-z_]\w*)\+?=")
KEYWORDS = frozenset(
    {"!", "then", "do", "else", "{", "}", "time", "if", "elif", "while", "until", "fi", "done", "esac"}
)


@dataclass(slots=True)
class Word:
    """One word: `raw` as written; `text` without quotes and with known variables filled in, None if not all are known.

    `inner` are the command substitutions in it; `sets` are assignments by `${NAME:=value}`.
    """

    raw: str
    text: str | None
    span: Span
    quoted: bool = False
    fleeting: Fleeting | None = None
    inner: list[tuple[str, int, int]] = field(default_factory=list)
    sets: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Operator:
    """`;`, `&&`, a redirection and so on; the text of a line end is `newline`."""

    text: str
    span: Span


@dataclass(slots=True)
class HereDocument:
    """The text between `<<END` and `END`, and the line of its beginning."""

    text: str
    line: int


class Lexer:
    """Reads one word at a time, so that earlier assignments can fill in later words."""

    def __init__(self, text: str, line: int, column: int, known: Mapping[str, str | None]) -> None:
        """`line` and `column` are where `text` begins.

        `known` are the variables assigned so far; the caller updates it.
        """
        self._text = text
        self._at = 0
        self._line = line
        self._column = column
        self._known = known
        self._pending = deque[tuple[str, bool]]()
        # The next closing brace, so that each part of the text is searched once for one.
        self._brace = -1

    def next(self) -> Word | Operator | HereDocument | None:
        """Return the next piece; None at the end."""
        self._blank()
        if self._at >= len(self._text):
            return None
        start = (self._line, self._column)
        if self._text[self._at] == "\n":
            self._take(1)
            if self._pending:
                return self._here_document()
            return Operator("newline", Span(*start, *start))
        if match := _REDIRECT.match(self._text, self._at):
            self._take(len(match[0]))
            operator = Operator(match[0].lstrip("0123456789"), Span(*start, self._line, self._column))
            if operator.text in {"<<", "<<-"}:
                self._note_here_document(operator.text)
            return operator
        for text in _OPERATORS:
            if self._text.startswith(text, self._at):
                self._take(len(text))
                return Operator(text, Span(*start, self._line, self._column))
        return self._word()

    def _take(self, count: int) -> str:
        taken = self._text[self._at : self._at + count]
        self._at += count
        lines = taken.count("\n")
        if lines:
            self._line += lines
            self._column = len(taken) - taken.rfind("\n")
        else:
            self._column += count
        return taken

    def _blank(self) -> None:
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t\r":
                self._take(1)
            elif self._text.startswith("\\\n", self._at):
                self._take(2)
            elif self._text.startswith("\\\r\n", self._at):
                self._take(3)
            elif char == "#":
                end = self._text.find("\n", self._at)
                self._take((len(self._text) if end < 0 else end) - self._at)
            else:
                return

    def _note_here_document(self, operator: str) -> None:
        match = re.compile(r"[ \t]*([\"']?)([\w.\-]+)\1").match(self._text, self._at)
        if match:
            self._take(len(match[0]))
            self._pending.append((match[2], operator == "<<-"))

    def _here_document(self) -> HereDocument:
        end, strips = self._pending.popleft()
        line = self._line
        begin = self._at
        while self._at < len(self._text):
            stop = self._text.find("\n", self._at)
            stop = len(self._text) if stop < 0 else stop
            content = self._text[self._at : stop]
            if (content.strip() if strips else content.strip("\r ").lstrip()) == end:
                text = self._text[begin : self._at]
                self._take(stop - self._at)
                return HereDocument(text, line)
            self._take(min(stop + 1, len(self._text)) - self._at)
        return HereDocument(self._text[begin:], line)

    def _word(self) -> Word:
        line, column, begin = self._line, self._column, self._at
        pieces: list[str | None] = []
        word = Word("", None, Span(line, column, line, column))
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t\r\n;|&()<>":
                break
            pieces.append(self._piece(word, char))
        word.raw = self._text[begin : self._at]
        word.text = "".join(piece for piece in pieces if piece is not None) if None not in pieces else None
        word.span = Span(line, column, self._line, self._column)
        if "$" in word.raw and (word.text or "").endswith("="):
            word.fleeting = word.fleeting or MAYBE_EMPTY
        return word

    def _piece(self, word: Word, char: str) -> str | None:
        match char:
            case "'":
                word.quoted = True
                end = self._text.find("'", self._at + 1)
                if end < 0:
                    self._take(len(self._text) - self._at)
                    return None
                return self._take(end + 1 - self._at)[1:-1]
            case '"':
                return self._double_quoted(word)
            case "\\":
                return self._take(2)[1:].replace("\n", "")
            case "$" | "`":
                return self._expanded(word)
            case _:
                end = self._at + 1
                while end < len(self._text) and self._text[end] not in " \t\r\n;|&()<>'\"\\$`":
                    end += 1
                return self._take(end - self._at)

    def _double_quoted(self, word: Word) -> str | None:
        word.quoted = True
        self._take(1)
        pieces: list[str | None] = []
        while self._at < len(self._text) and self._text[self._at] != '"':
            if self._text[self._at] in "$`":
                pieces.append(self._expanded(word))
            elif self._text[self._at] == "\\":
                pieces.append(self._take(2)[1:].replace("\n", ""))
            else:
                end = self._at + 1
                while end < len(self._text) and self._text[end] not in '"$`\\':
                    end += 1
                pieces.append(self._take(end - self._at))
        is_closed = self._take(1) == '"'
        return None if None in pieces or not is_closed else "".join(piece for piece in pieces if piece is not None)

    def _expanded(self, word: Word) -> str | None:
        if self._text[self._at] == "`" or self._text.startswith("$(", self._at):
            self._substituted(word)
            return None
        found = self._expansion()
        if found is None:
            return self._take(1)
        length, name, rest = found
        self._take(length)
        word.fleeting = word.fleeting or fleeting_folder(name)
        return self._variable(word, name, rest)

    def _expansion(self) -> tuple[int, str, str] | None:
        """Return the length of `$x`, `${x:-y}` or `${{ x }}` at the current place, the name, and what follows it."""
        text, at = self._text, self._at + 1
        if not text.startswith("{", at):
            if name := _NAME.match(text, at):
                return name.end() - self._at, name[0], ""
            return (2, text[at], "") if at < len(text) and text[at] in _SPECIAL else None
        if self._brace < at:
            end = text.find("}", at)
            self._brace = end if end >= 0 else len(text)
        end = self._brace
        if text.startswith("{{", at):
            return (end + 2 - self._at, text[at + 2 : end].strip(), "") if text.startswith("}}", end) else None
        name = _NAME.match(text, at + 1)
        if name is None or end == len(text):
            return None
        return end + 1 - self._at, name[0], text[name.end() : end]

    def _variable(self, word: Word, name: str, rest: str) -> str | None:
        known = self._known.get(name)
        if known is not None and len(known) > _LONGEST_VALUE:
            known = None
        operator, default = re.fullmatch(r"(:?[-=+?]?)(.*)", rest, re.DOTALL).groups()  # type: ignore[union-attr]
        if operator in {":-", "-", ":=", "="}:
            value = known if name in self._known else default.strip("\"'")
            if "=" in operator and value is not None:
                word.sets.append((name, value))
            return None if value is None or "$" in value else value
        return known if not rest else None

    def _substituted(self, word: Word) -> None:
        if self._text[self._at] == "`":
            end = self._text.find("`", self._at + 1)
            opening, end = 1, (len(self._text) if end < 0 else end)
        else:
            opening, end = 2, _closing(self._text, self._at + 1)
        self._take(opening)
        inner = self._text[self._at : end]
        word.inner.append((inner, self._line, self._column))
        word.fleeting = word.fleeting or fleeting_folder(inner.strip())
        self._take(end + 1 - self._at)


def _closing(text: str, at: int) -> int:
    """Return the offset at which the parenthesis that opens at `at` closes; quotes are skipped."""
    depth = 0
    quote = ""
    while at < len(text):
        char = text[at]
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == "\\":
            at += 1
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if not depth:
                return at
        at += 1
    return len(text)


def split(words: list[Word]) -> tuple[list[Word], list[Word]]:
    """Return the assignments at the front of `words`, and the rest."""
    for position, word in enumerate(words):
        if not re.match(r"[A-Za-z_]\w*\+?=", word.raw):
            return words[:position], words[position:]
    return words, []


def pair(word: Word) -> tuple[str, str | None]:
    """Return name and value of an assignment; None for a value that is not fully known."""
    match = ASSIGNMENT.match(word.raw)
    name = match[1] if match else word.raw
    if word.text is None:
        return name, None
    return name, word.text.partition("=")[2]


def program(words: list[Word]) -> str:
    """Return the name of the program that `words` run, without its folder; empty for none."""
    _, rest = split([word for word in words if word.text not in KEYWORDS])
    rest = [word for word in rest if word.text not in {"sudo", "env"} and not word.raw.startswith("-")]
    return (rest[0].text or "").rpartition("/")[2] if rest else ""

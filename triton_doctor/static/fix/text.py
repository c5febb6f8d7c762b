"""Lossless conversion of bytes to text and back, positions to offsets, and unified diffs."""

from __future__ import annotations

import codecs
import difflib
import io
import os
import re
import tokenize
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.finding import Span


_NEWLINE = re.compile(r"\r\n|\r|\n")


class Edit(NamedTuple):
    """Replaces the characters from `start` to `end` by `text`."""

    start: int
    end: int
    text: str


class Text:
    """The text of one Python file. Line ends stay as they are; a byte order mark is kept separately."""

    def __init__(self, data: bytes) -> None:
        """Raises CannotEditError if decoding and encoding `data` does not restore it."""
        self._mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        body = data[len(self._mark) :]
        try:
            self._encoding = "utf-8" if self._mark else tokenize.detect_encoding(io.BytesIO(body).readline)[0]
            self.text = body.decode(self._encoding)
            exact = self.text.encode(self._encoding) == body
        except (SyntaxError, UnicodeError, LookupError):
            exact = False
        if not exact:
            raise CannotEditError("its encoding does not allow it")
        self._starts = [0, *(match.end() for match in _NEWLINE.finditer(self.text))]

    def offset(self, line: int, column: int) -> int:
        """Return the offset of `line` (from 1) and `column` (from 0)."""
        if line > len(self._starts):
            raise CannotEditError("the file is shorter than it was")
        return self._starts[line - 1] + column

    @property
    def lines(self) -> int:
        """The number of lines."""
        return len(self._starts)

    def between(self, first: int, last: int) -> str:
        """Return the lines `first` to `last`, with line ends."""
        return self.text[self._starts[first - 1] : self._starts[last] if last < len(self._starts) else None]

    def bounds(self, span: Span) -> tuple[int, int]:
        """Return the offsets of `span`."""
        return self.offset(span.line, span.column - 1), self.offset(span.end_line, span.end_column - 1)

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of `offset`, both from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line_start(self, offset: int) -> int:
        """Return the start of the line that holds `offset`."""
        return max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset)) + 1

    def line_end(self, offset: int) -> int:
        """Return the offset after the line end that follows `offset`."""
        found = _NEWLINE.search(self.text, offset)
        return found.end() if found else len(self.text)

    def newline(self, offset: int) -> str:
        """Return the line end used at `offset`."""
        found = _NEWLINE.search(self.text, offset)
        return found[0] if found else "\n"

    def spliced(self, edits: Iterable[Edit]) -> bytes:
        """Return the file with `edits` applied; they must not overlap."""
        parts, done = [], 0
        for edit in sorted(edits):
            parts += [self.text[done : edit.start], edit.text]
            done = edit.end
        return self._mark + ("".join(parts) + self.text[done:]).encode(self._encoding)


class CannotEditError(Exception):
    """The reason why an edit is not made, as the end of a sentence."""


# C escapes, as git and patch read them in file names of a diff.
_ESCAPES = [chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" for byte in range(256)]
_LINE = re.compile(r"[^\n]*\n|[^\n]+$")


def unified_diff(path: str, before: bytes, after: bytes) -> str:
    """Return the diff of the file at `path`."""
    old, new = (path, path) if path.startswith("/") else (f"a/{path}", f"b/{path}")
    return "".join(_ended(difflib.unified_diff(_lines(before), _lines(after), _quote(old), _quote(new))))


def _quote(name: str) -> str:
    """Return `name` quoted as git does, if it contains line ends, quotes, control characters or undecodable bytes."""
    if name.isprintable() and '"' not in name and "\\" not in name:
        return name
    return '"' + "".join(map(_ESCAPES.__getitem__, os.fsencode(name))) + '"'


def _lines(data: bytes) -> list[str]:
    return _LINE.findall(Text(data).text)


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"

"""Open documents by their absolute path, as the bytes of a file; and places in a text as positions of the protocol.

We count lines and characters from 1. The protocol counts both from 0, and columns in the units that the client and the
server agreed on, UTF-16 if they did not.
"""

from __future__ import annotations

import difflib
import io
import re
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol.types import Position, Range, TextEdit
from pygls.uris import from_fs_path, to_fs_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pygls.workspace import PositionCodec, TextDocument

    from triton_doctor.finding import Span
    from triton_doctor.plan import Replacement


class OpenDocument(NamedTuple):
    """A document that the editor holds. `uri` is spelled as the client spells it."""

    uri: str
    version: int | None
    text: bytes


def path_of(uri: str) -> str | None:
    """Return the absolute, posix path of the file `uri`; None if it is not a file, such as an unnamed buffer."""
    if not uri.startswith("file:"):
        return None
    path = to_fs_path(uri)
    return Path(path).as_posix() if path else None


def uri_of(path: str) -> str:
    """Return the URI of the file at the absolute `path`."""
    uri: str | None = from_fs_path(path)
    assert uri is not None
    return uri


def open_documents(documents: Mapping[str, TextDocument]) -> dict[str, OpenDocument]:
    """Return those of `documents`, which are by URI, that are files, by path."""
    found = {}
    for uri, document in documents.items():
        path = path_of(uri)
        if path is not None:
            found[path] = OpenDocument(uri, document.version, encode(document.source))
    return found


def encode(text: str) -> bytes:
    """Encode `text` as a file, in the encoding that its first lines declare."""
    data = text.encode("utf-8", "replace")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data if encoding in ("utf-8", "utf-8-sig") else text.encode(encoding)
    except (SyntaxError, UnicodeError, LookupError):
        return data


def decode(data: bytes) -> str:
    """Decode a file, in the encoding that its first lines declare. Undecodable bytes are replaced."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding, "replace")
    except (SyntaxError, LookupError):
        return data.decode("utf-8", "replace")


# What ends a line, to the protocol and to Python. `str.splitlines` also ends one at a form feed.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")


class Positions:
    """The positions of one text."""

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self._text = text
        self._lines = _LINE.findall(text)
        self._codec = codec

    def range_of(self, span: Span) -> Range:
        """Convert `span` to a range; places beyond the end of the text, which may have changed, become its end."""
        return Range(self.position_of(span.line, span.column), self.position_of(span.end_line, span.end_column))

    def position_of(self, line: int, column: int) -> Position:
        """Convert `line` and `column`, both from 1, to a position."""
        if line > len(self._lines):
            return Position(len(self._lines), 0)
        before = self._lines[line - 1].rstrip("\r\n")[: column - 1]
        return Position(line - 1, self._codec.client_num_units(before))

    def line_range(self, line: int) -> Range:
        """Return the range of `line`, from 1, without its indentation and its line end."""
        if line > len(self._lines):
            return Range(Position(len(self._lines), 0), Position(len(self._lines), 0))
        text = self._lines[line - 1].rstrip("\r\n")
        start = len(text) - len(text.lstrip())
        return Range(self.position_of(line, start + 1), self.position_of(line, len(text) + 1))

    def with_keyword(self, span: Span, name: str) -> Span:
        """Extend `span`, of an argument's value, by the `name=` before it, if it is there."""
        before = self._lines[span.line - 1][: span.column - 1] if span.line <= len(self._lines) else ""
        keyword = f"{name}="
        return span._replace(column=span.column - len(keyword)) if before.endswith(keyword) else span

    def place_of(self, position: Position) -> tuple[int, int]:
        """Convert `position` to line and column, both from 1."""
        if position.line >= len(self._lines):
            return len(self._lines) + 1, 1
        line = self._lines[position.line].rstrip("\r\n")
        units = min(position.character, self._codec.client_num_units(line))
        place = self._codec.position_from_client_units([line], Position(0, units))
        return position.line + 1, int(place.character) + 1

    def edits_of(self, replacements: Iterable[Replacement]) -> list[TextEdit]:
        """Convert `replacements`, which must be of this text, to edits."""
        return [
            TextEdit(Range(self.position_of(*replacement.start), self.position_of(*replacement.end)), replacement.text)
            for replacement in replacements
        ]

    def edits_to(self, after: str) -> list[TextEdit]:
        """Return edits of whole lines that turn this text into `after`."""
        new = _LINE.findall(after)
        matcher = difflib.SequenceMatcher(None, self._lines, new, autojunk=False)
        return [
            TextEdit(Range(self._line_start(first), self._line_start(last)), "".join(new[start:end]))
            for kind, first, last, start, end in matcher.get_opcodes()
            if kind != "equal"
        ]

    def _line_start(self, index: int) -> Position:
        """Return where the line `index`, from 0, begins; the end of the text if there are fewer lines."""
        if index < len(self._lines) or not self._lines or self._lines[-1].endswith(("\r", "\n")):
            return Position(index, 0)
        last = len(self._lines)
        return self.position_of(last, len(self._lines[-1]) + 1)


def holds(span: Span, line: int, column: int) -> bool:
    """Return whether `line` and `column` are in `span` or at its end."""
    return (span.line, span.column) <= (line, column) <= (span.end_line, span.end_column)


def overlap(span: Span, first: tuple[int, int], last: tuple[int, int]) -> bool:
    """Return whether `span` overlaps or touches the range from `first` to `last`, which are (line, column)."""
    return (span.line, span.column) <= last and first <= (span.end_line, span.end_column)

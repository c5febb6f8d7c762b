"""Text searches before parsing, and positions of syntax in a text, counted in characters."""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Protocol

from triton_doctor.finding import Span
from triton_doctor.scan_caches import cached_in_scan

if TYPE_CHECKING:
    from collections.abc import Iterator

# Only these lines may declare the encoding of a file (PEP 263).
_ENCODING_LINES = 2
_ENCODING = re.compile(rb"[ \t\f]*#.*?coding[:=]")
_BLANK = re.compile(rb"[ \t\f]*(?:#.*)?$", re.MULTILINE)

_ANYTHING = re.compile(b"")


class TextPattern:
    """A search for `word` with `before` matching where it begins and `after` where it ends.

    Instances compare by identity, so make each one once.
    """

    __slots__ = ("_after", "_before", "_word")

    def __init__(self, word: str, before: re.Pattern[bytes] = _ANYTHING, after: re.Pattern[bytes] = _ANYTHING) -> None:
        """Many words share `before` and `after`: compiling a pattern for each costs more than most searches."""
        self._word = os.fsencode(word)  # a file's name may be bytes that do not decode
        self._before = before
        self._after = after

    @property
    def pattern(self) -> bytes:
        """Return the whole search as one regular expression."""
        return self._before.pattern + re.escape(self._word) + self._after.pattern

    def offsets(self, text: bytes) -> Iterator[int]:
        """Yield the offsets at which it occurs in `text`, in order, except on lines that hold only a comment."""
        word, width, before, after = self._word, len(self._word), self._before.match, self._after.match
        at = text.find(word)
        while at != -1:
            if before(text, at) and after(text, at + width) and not is_in_comment(text, at):
                yield at
            at = text.find(word, at + width)


def is_in_comment(text: bytes, at: int) -> bool:
    """Return whether `at` is on a line that holds only a comment."""
    return text[text.rfind(b"\n", 0, at) + 1 : at].lstrip().startswith(b"#")


class SyntaxNode(Protocol):
    """The position of a node as Python's parser gives it; columns are byte offsets from 0."""

    lineno: int
    col_offset: int
    end_lineno: int | None
    end_col_offset: int | None


class SourceText:
    """The text of one file by its lines. `unread` collects the errors of functions that failed to parse later."""

    def __init__(self, text: bytes) -> None:
        """`text` is what was given to `ast.parse`; lines are split where `ast` splits them."""
        self.text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text
        self._is_ascii = self.text.isascii()
        self.unread: list[Exception] = []
        self._starts: list[int] | None = None

    def span(self, node: SyntaxNode) -> Span:
        """Return the span of `node`."""
        end_line = node.end_lineno or node.lineno
        if self._is_ascii:
            return Span(node.lineno, node.col_offset + 1, end_line, (node.end_col_offset or node.col_offset) + 1)
        return Span(
            node.lineno,
            self._column(node.lineno, node.col_offset),
            end_line,
            self._column(end_line, node.end_col_offset or node.col_offset),
        )

    def text_at(self, span: Span) -> str:
        """Return the text in `span`."""
        starts = self._line_starts()
        lines = self.text[starts[span.line - 1] : starts[span.end_line]].decode("utf-8", "replace")
        rest = len(self.text[starts[span.end_line - 1] : starts[span.end_line]].decode("utf-8", "replace"))
        return lines[span.column - 1 : len(lines) - rest + span.end_column - 1]

    def found(self, pattern: re.Pattern[bytes]) -> set[str]:
        """Return every match of the only group of `pattern`."""
        return {match.decode("utf-8", "replace") for match in pattern.findall(self.text)}

    @property
    def last_line(self) -> int:
        """Return the number of the last line."""
        return len(self._line_starts()) - 1

    def line_at(self, offset: int) -> int:
        """Return the number of the line that holds `offset`."""
        return bisect_right(self._line_starts(), offset)

    def offset_of(self, line: int) -> int:
        """Return the offset at which line number `line` begins."""
        return self._line_starts()[line - 1]

    def bounds(self, first: int, last: int) -> tuple[int, int]:
        """Return the start and end offsets of the lines `first` to `last`."""
        starts = self._line_starts()
        return starts[first - 1], starts[min(last, len(starts) - 1)]

    def matches(self, pattern: re.Pattern[bytes], first: int, last: int) -> bool:
        """Return whether `pattern` occurs in the lines `first` to `last`."""
        return pattern.search(self.text, *self.bounds(first, last)) is not None

    def count(self, pattern: TextPattern, start: int, end: int) -> int:
        """Count `pattern` between two offsets. The positions in the whole text are computed once and cached."""
        offsets = _offsets(self, pattern)
        at = bisect_left(offsets, start)
        return bisect_left(offsets, end, at) - at

    def holds(self, word: bytes, start: int, end: int) -> bool:
        """Return whether `word` occurs between two offsets, not counting lines that hold only a comment."""
        at = self.text.find(word, start, end)
        while at != -1 and is_in_comment(self.text, at):
            at = self.text.find(word, at + 1, end)
        return at != -1

    def lines(self, first: int, last: int) -> str:
        """Return the lines `first` to `last`."""
        start, end = self.bounds(first, last)
        return self.text[start:end].decode("utf-8", "replace")

    def is_indented(self, line: int) -> bool:
        """Return whether `line`, the first of a statement, is indented. A form feed sets the indentation back to 0."""
        text = self.text[slice(*self.bounds(line, line))]
        blank = text[: len(text) - len(text.lstrip(b" \t\f"))]
        return bool(blank.rpartition(b"\f")[2])

    def alone(self, first: int, last: int, *, indented: bool) -> bytes:
        """Return a text with all lines but `first` to `last` blanked, so that line numbers stay.

        `indented` lines become the body of an `if`. An encoding declared in the first two lines is kept.
        """
        starts = self._line_starts()
        before = first - 1 - indented
        head = [self.text[start:end] for start, end in pairwise(starts[: min(before, _ENCODING_LINES) + 1])]
        if head and not _BLANK.match(head[0]):
            head = []  # the second line may declare it only below a comment or an empty line
        return b"".join(
            [
                *(line if _ENCODING.match(line) else b"\n" for line in head),
                b"\n" * (before - len(head)),
                b"if 1:\n" if indented else b"",
                self.text[starts[first - 1] : starts[min(last, len(starts) - 1)]],
            ]
        )

    def _line_starts(self) -> list[int]:
        """The offset at which each line begins, then the length of the text."""
        if self._starts is None:
            self._starts = list(accumulate(map(len, self.text.splitlines(keepends=True)), initial=0))
        return self._starts

    def _column(self, line: int, offset: int) -> int:
        starts = self._line_starts()
        if line >= len(starts):
            return offset + 1
        before = self.text[starts[line - 1] : starts[line - 1] + offset]
        return (offset if before.isascii() else len(before.decode("utf-8", "replace"))) + 1


@cached_in_scan()
def _offsets(source: SourceText, pattern: TextPattern) -> list[int]:
    """Return the offsets of `pattern` in the text of `source`. Cached until the scan ends; both may live longer."""
    return list(pattern.offsets(source.text))

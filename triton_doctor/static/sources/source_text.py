"""Places in a text: of patterns that it is searched for before it is parsed, and of syntax, counted in characters."""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Protocol

from triton_doctor.finding import Span
from triton_doctor.scan_caches import cached_in_scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Only there may a file say in which encoding it is (PEP 263).
_ENCODING_LINES = 2
_ENCODING = re.compile(rb"[ \t\f]*#.*?coding[:=]")
_BLANK = re.compile(rb"[ \t\f]*(?:#.*)?$", re.MULTILINE)

_ANYTHING = re.compile(b"")


class TextPattern:
    """`word` where `before` matches at its beginning and `after` at its end. Equal to itself alone, so make it once."""

    __slots__ = ("_after", "_before", "_word")

    def __init__(self, word: str, before: re.Pattern[bytes] = _ANYTHING, after: re.Pattern[bytes] = _ANYTHING) -> None:
        """The patterns are shared by many words: to compile one for each costs more than most searches."""
        self._word = os.fsencode(word)  # a file may be called by bytes that are no text
        self._before = before
        self._after = after

    @property
    def pattern(self) -> bytes:
        """All of it as one regular expression."""
        return self._before.pattern + re.escape(self._word) + self._after.pattern

    def offsets(self, text: bytes) -> Iterator[int]:
        """Where it begins in `text`, in order, but for lines of comments alone."""
        word, width, before, after = self._word, len(self._word), self._before.match, self._after.match
        at = text.find(word)
        while at != -1:
            if before(text, at) and after(text, at + width) and not is_in_comment(text, at):
                yield at
            at = text.find(word, at + width)


def is_in_comment(text: bytes, at: int) -> bool:
    """Whether what stands at `at` is of a comment that has its line for itself."""
    return text[text.rfind(b"\n", 0, at) + 1 : at].lstrip().startswith(b"#")


class SyntaxNode(Protocol):
    """What Python's parser says of the place of a node; columns are counted in bytes, from 0."""

    lineno: int
    col_offset: int
    end_lineno: int | None
    end_col_offset: int | None


class SourceText:
    """The text of one file by its lines; `unread` are the errors of functions that could not be read later."""

    def __init__(self, text: bytes) -> None:
        """`text` is what was given to `ast.parse`; it is split where that splits it."""
        self.text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text
        self._is_ascii = self.text.isascii()
        self.unread: list[Exception] = []
        self._starts: list[int] | None = None

    def span(self, node: SyntaxNode) -> Span:
        """Where `node` stands."""
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
        """What stands at `span`."""
        starts = self._line_starts()
        lines = self.text[starts[span.line - 1] : starts[span.end_line]].decode("utf-8", "replace")
        rest = len(self.text[starts[span.end_line - 1] : starts[span.end_line]].decode("utf-8", "replace"))
        return lines[span.column - 1 : len(lines) - rest + span.end_column - 1]

    def lines_with(self, words: Iterable[bytes]) -> list[int]:
        """The numbers of the lines in which one of `words` stands, in order."""
        starts = self._line_starts()
        found = set[int]()
        for word in words:
            at = self.text.find(word)
            while at != -1:
                line = bisect_right(starts, at)
                found.add(line)
                at = self.text.find(word, starts[line])
        return sorted(found)

    def found(self, pattern: re.Pattern[bytes]) -> set[str]:
        """What the one group of `pattern` matches, anywhere."""
        return {match.decode("utf-8", "replace") for match in pattern.findall(self.text)}

    @property
    def last_line(self) -> int:
        """The number of the last line."""
        return len(self._line_starts()) - 1

    def line_at(self, offset: int) -> int:
        """The number of the line that holds `offset`."""
        return bisect_right(self._line_starts(), offset)

    def offset_of(self, line: int) -> int:
        """Where the line of that number begins."""
        return self._line_starts()[line - 1]

    def bounds(self, first: int, last: int) -> tuple[int, int]:
        """The offsets between which the lines `first` to `last` stand."""
        starts = self._line_starts()
        return starts[first - 1], starts[min(last, len(starts) - 1)]

    def matches(self, pattern: re.Pattern[bytes], first: int, last: int) -> bool:
        """Whether `pattern` is found in the lines `first` to `last`."""
        return pattern.search(self.text, *self.bounds(first, last)) is not None

    def times(self, sign: TextPattern, start: int, end: int) -> int:
        """How often `sign` stands between two offsets. The text is searched once, whatever these are."""
        offsets = _offsets(self, sign)
        at = bisect_left(offsets, start)
        return bisect_left(offsets, end, at) - at

    def holds(self, word: bytes, start: int, end: int) -> bool:
        """Whether `word` stands between two offsets, but on lines of comments alone."""
        at = self.text.find(word, start, end)
        while at != -1 and is_in_comment(self.text, at):
            at = self.text.find(word, at + 1, end)
        return at != -1

    def lines(self, first: int, last: int) -> str:
        """The lines `first` to `last`."""
        start, end = self.bounds(first, last)
        return self.text[start:end].decode("utf-8", "replace")

    def alone(self, first: int, last: int, *, indented: bool) -> bytes:
        """A text in which nothing stands but the lines `first` to `last`, at their places.

        `indented` lines become the body of an `if`. What the first two lines say of the encoding stays.
        """
        starts = self._line_starts()
        before = first - 1 - indented
        head = [self.text[start:end] for start, end in pairwise(starts[: min(before, _ENCODING_LINES) + 1])]
        if head and not _BLANK.match(head[0]):
            head = []  # only below a comment or nothing may the second line say it
        return b"".join(
            [
                *(line if _ENCODING.match(line) else b"\n" for line in head),
                b"\n" * (before - len(head)),
                b"if 1:\n" if indented else b"",
                self.text[starts[first - 1] : starts[min(last, len(starts) - 1)]],
            ]
        )

    def _line_starts(self) -> list[int]:
        """Where each line begins, and where the text ends."""
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
def _offsets(source: SourceText, sign: TextPattern) -> list[int]:
    """Where `sign` begins in the text of `source`, which may outlive the scan; `sign` is another in the next."""
    return list(sign.offsets(source.text))

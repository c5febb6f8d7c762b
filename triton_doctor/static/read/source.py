"""Places in a text: what `ast` counts in bytes, in the characters that a user counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Span

if TYPE_CHECKING:
    import ast
    import re


class Source:
    """The text of one file by its lines."""

    def __init__(self, text: bytes) -> None:
        """`text` is what was given to `ast.parse`; it is split where that splits it."""
        self._text = text
        self._lines: list[bytes] | None = None

    def span(self, node: ast.expr | ast.arg | ast.keyword | ast.stmt) -> Span:
        """Where `node` stands."""
        end_line = node.end_lineno or node.lineno
        return Span(
            node.lineno,
            self._column(node.lineno, node.col_offset),
            end_line,
            self._column(end_line, node.end_col_offset or node.col_offset),
        )

    def lines_with(self, pattern: re.Pattern[bytes]) -> list[int]:
        """The numbers of the lines in which `pattern` is found, in order."""
        return [number for number, line in enumerate(self._split(), start=1) if pattern.search(line)]

    def found(self, pattern: re.Pattern[bytes]) -> set[str]:
        """What the one group of `pattern` matches, anywhere."""
        return {match.decode("utf-8", "replace") for match in pattern.findall(self._text)}

    def _split(self) -> list[bytes]:
        if self._lines is None:
            self._lines = self._text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        return self._lines

    def _column(self, line: int, offset: int) -> int:
        lines = self._split()
        if line > len(lines):
            return offset + 1
        before = lines[line - 1][:offset]
        return (offset if before.isascii() else len(before.decode("utf-8", "replace"))) + 1

"""Places in a text: what `ast` counts in bytes, in the characters that a user counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Span

if TYPE_CHECKING:
    import ast


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

    def _column(self, line: int, offset: int) -> int:
        if self._lines is None:
            self._lines = self._text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        if line > len(self._lines):
            return offset + 1
        before = self._lines[line - 1][:offset]
        return (offset if before.isascii() else len(before.decode("utf-8", "replace"))) + 1

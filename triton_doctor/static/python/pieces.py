"""A module's text to the syntax trees of its top level, one piece at a time if the text is large.

Python's tree takes 150 to 300 times the memory of the text: 600 MB for 100,000 calls in 2.3 MB. The top level is read
once, statement by statement, so one piece's tree at a time is enough.
"""

from __future__ import annotations

import ast
import re
import warnings
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.sources.source_text import SourceText

# Each piece is padded with empty lines for everything before it, so many pieces would mean reading the text many times.
_LEAST_BYTES, _MOST_PIECES = 256 << 10, 16
# A possible beginning of a top-level statement. A line in a string or brackets may look the same: then the text before
# it does not parse. A line below a decorator belongs to it.
_BEGINNING = re.compile(rb"(?<!\\\n)^(?!(?:else|elif|except|finally)\b)[A-Za-z_@]", re.MULTILINE)


def parse_pieces(source: SourceText, least_bytes: int | None = None) -> Iterator[Sequence[ast.stmt]]:
    """Yield the top-level statements, piece by piece, at their own lines. Raises as `ast.parse` does.

    It raises if a line only looked like the beginning of a statement, or if the text is not Python.
    """
    for first, last in _lines_of_pieces(source, least_bytes or _LEAST_BYTES):
        yield parse(source.alone(first, last, indented=False)).body


def is_large(text: bytes) -> bool:
    """Return whether a text is large enough to be read in pieces."""
    return len(text) > 2 * _LEAST_BYTES


def parse(text: bytes | str) -> ast.Module:
    """Return the tree of a whole text, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def statement_lines(text: str) -> Sequence[tuple[int, int]]:
    """Return the first and last line of each top-level statement. Raises as `ast.parse` does."""
    return list(map(lines_of, parse(text).body))


def lines_of(statement: ast.stmt) -> tuple[int, int]:
    """Return the first and last line of a statement, including its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(decorator.lineno for decorator in decorators)]) if decorators else statement.lineno
    return first, statement.end_lineno or statement.lineno


def _lines_of_pieces(source: SourceText, least_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of each piece; the pieces cover all lines."""
    size = max(least_bytes, len(source.text) // _MOST_PIECES)
    starts, searched = [1], size
    while found := _BEGINNING.search(source.text, searched):
        searched = found.end()
        line = source.line_at(found.start())
        if not source.text.startswith(b"@", source.offset_of(line - 1)):
            starts.append(line)
            searched = found.start() + size
    starts.append(source.last_line + 1)
    yield from ((first, after - 1) for first, after in pairwise(starts))

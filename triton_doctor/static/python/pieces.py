"""A module's text to syntax trees of its top level: of one piece after the other, where it is large.

Python's tree of a text takes 150 to 300 times the memory of the text: 600 MB for 100,000 calls in 2.3 MB. What the top
level says is read once, statement by statement, so the tree of one piece at a time is enough.
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

# What stands before a piece are empty lines for it: many pieces of a text would be read as often as there are pieces.
_LEAST_BYTES, _MOST_PIECES = 256 << 10, 16
# Where a statement of the top level may begin. A line in a string or in brackets may look so: the text before it does
# not parse then. One below a decorator belongs to it.
_BEGINNING = re.compile(rb"(?<!\\\n)^(?!(?:else|elif|except|finally)\b)[A-Za-z_@]", re.MULTILINE)


def parse_pieces(source: SourceText, least_bytes: int | None = None) -> Iterator[Sequence[ast.stmt]]:
    """The statements of the top level, of one piece after the other, at their lines. Raises as `ast.parse` does.

    Where it raises, some place looked like the beginning of a statement, or the text is no Python.
    """
    for first, last in _lines_of_pieces(source, least_bytes or _LEAST_BYTES):
        yield parse(source.alone(first, last, indented=False)).body


def is_large(text: bytes) -> bool:
    """Whether a text is worth being read in pieces."""
    return len(text) > 2 * _LEAST_BYTES


def parse(text: bytes | str) -> ast.Module:
    """The tree of a whole text, without warnings about it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def statement_lines(text: str) -> Sequence[tuple[int, int]]:
    """The first and the last line of each statement of the top level. Raises as `ast.parse` does."""
    return list(map(lines_of, parse(text).body))


def lines_of(statement: ast.stmt) -> tuple[int, int]:
    """The first and the last line of a statement; those of its decorators are some of them."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(one.lineno for one in decorators)]) if decorators else statement.lineno
    return first, statement.end_lineno or statement.lineno


def _lines_of_pieces(source: SourceText, least_bytes: int) -> Iterator[tuple[int, int]]:
    """The first and the last line of each piece; together they are all lines."""
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

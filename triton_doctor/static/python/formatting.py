"""Normalizes Python text, so that formatting it does not change the result."""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
from contextlib import suppress
from typing import TYPE_CHECKING

from triton_doctor.nesting import with_own_stack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LAYOUT = frozenset(
    {
        *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
        *(tokenize.ENCODING, tokenize.ENDMARKER),
    }
)


def normalize(text: str) -> str:
    """Return Python text without what a formatter changes: space, comments, quotes, parentheses, trailing commas."""
    if text.lstrip().startswith("#"):
        return " ".join(text.split())
    for parse in (_expression, _parameters, _statements):
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            return with_own_stack(_respelled, parse, text)
    return " ".join(_words(text))


def _respelled(parse: Callable[[str], ast.AST], text: str) -> str:
    return ast.unparse(parse(text))


def _expression(text: str) -> ast.AST:
    return ast.parse(f"(\n{text}\n)", mode="eval")


def _parameters(text: str) -> ast.AST:
    """Parse a parameter list; it also accepts a keyword argument, which looks like a parameter with a default."""
    (function,) = ast.parse(f"def f(\n{text}\n): ...").body
    assert isinstance(function, ast.FunctionDef)
    return function.args


def _statements(text: str) -> ast.AST:
    return ast.parse(textwrap.dedent(text))


def _words(text: str) -> Iterator[str]:
    """Yield the tokens of a text that is no complete piece of syntax, such as a decorator or a comment."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        yield from text.split()
        return
    words = [token.string for token in tokens if token.type not in _LAYOUT]
    yield from words or text.split()

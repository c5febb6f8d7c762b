"""Syntax errors to the Python that knows the syntax: what the running one does not read may be no mistake."""

from __future__ import annotations

import re
import sys
from typing import NamedTuple


class NewerSyntax(NamedTuple):
    """What the line uses, and the first Python that has it."""

    what: str
    version: tuple[int, int]


# By the line of the error, the first that matches (https://docs.python.org/3/whatsnew/).
_NEWER = (
    (re.compile(r"\s*type\s+\w+\s*(?:\[.*\])?\s*="), NewerSyntax("a `type` statement", (3, 12))),
    (re.compile(r"\s*(?:(?:async\s+)?def|class)\s+\w+\s*\["), NewerSyntax("type parameters", (3, 12))),
    (re.compile(r"\s*except\*?\s+[\w.]+\s*,[^()]*:"), NewerSyntax("`except` of types without parentheses", (3, 14))),
    (re.compile(r".*(?<!\w)(?:t|rt|tr)[\"']", re.IGNORECASE), NewerSyntax("a template string", (3, 14))),
    (re.compile(r"\s*(?:from\s.+\s)?lazy\s+(?:import|from)\s"), NewerSyntax("a lazy import", (3, 15))),
)  # fmt: skip
_NESTED_QUOTES = NewerSyntax("an f-string with quotes, a backslash or a comment within its braces", (3, 12))


def newer_syntax(error: Exception, running: tuple[int, int] = sys.version_info[:2]) -> NewerSyntax | None:
    """What the line of `error` uses that is newer than the `running` Python; None where it is plainly wrong."""
    if not isinstance(error, SyntaxError):
        return None
    line = error.text or ""
    known = next((syntax for pattern, syntax in _NEWER if pattern.match(line)), None)
    if known is None and re.search(r"(?<!\w)(?:f|rf|fr)[\"']", line, re.IGNORECASE):
        known = _NESTED_QUOTES
    return known if known is not None and known.version > running else None

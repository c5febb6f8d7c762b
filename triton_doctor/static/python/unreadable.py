"""A file that could not be read to its TRD900, with the reason and the place.

A file may be valid Python of a newer version; the line of the error tells which syntax it uses.
"""

from __future__ import annotations

import re
import sys
from typing import NamedTuple

from triton_doctor.errors import reason_of
from triton_doctor.finding import Finding, Severity, Span
from triton_doctor.regular_files import NotRegularError, TooLargeError

CODE = "TRD900"
RUNNING = f"Python {sys.version_info.major}.{sys.version_info.minor}"


class NewerSyntax(NamedTuple):
    """A syntax, and the first Python that has it."""

    what: str
    version: tuple[int, int]


# Matched against the line of the error; the first match counts (https://docs.python.org/3/whatsnew/).
_NEWER = (
    (re.compile(r"\s*type\s+\w+\s*(?:\[.*\])?\s*="), NewerSyntax("a `type` statement", (3, 12))),
    (re.compile(r"\s*(?:(?:async\s+)?def|class)\s+\w+\s*\["), NewerSyntax("type parameters", (3, 12))),
    (re.compile(r"\s*except\*?\s+[\w.]+\s*,[^()]*:"), NewerSyntax("`except` of types without parentheses", (3, 14))),
    (re.compile(r".*(?<!\w)(?:t|rt|tr)[\"']", re.IGNORECASE), NewerSyntax("a template string", (3, 14))),
    (re.compile(r"\s*(?:from\s.+\s)?lazy\s+(?:import|from)\s"), NewerSyntax("a lazy import", (3, 15))),
)  # fmt: skip
_NESTED_QUOTES = NewerSyntax("an f-string with quotes, a backslash or a comment within its braces", (3, 12))


def newer_syntax(error: Exception, running: tuple[int, int] = sys.version_info[:2]) -> NewerSyntax | None:
    """Return the syntax in the line of `error` that is newer than the `running` Python.

    None if the line is just wrong.
    """
    if not isinstance(error, SyntaxError):
        return None
    line = error.text or ""
    known = next((syntax for pattern, syntax in _NEWER if pattern.match(line)), None)
    if known is None and re.search(r"(?<!\w)(?:f|rf|fr)[\"']", line, re.IGNORECASE):
        known = _NESTED_QUOTES
    return known if known is not None and known.version > running else None


def explain_unreadable(path: str, error: Exception) -> Finding:
    """Return the finding for the `error` raised by reading `path`; its span is empty if it concerns the whole file."""
    span = Span(1, 1, 1, 1)
    advice = None
    match error:
        case TooLargeError():
            message, advice = error.strerror, "leave it out with `exclude`"
        case NotRegularError():
            message, advice = error.strerror, "leave it out, or give its text to `triton-doctor check -`"
        case OSError():
            message = reason_of(error)
        case SyntaxError() if is_encoding(error):
            message, advice = "not text in the encoding it is said to have", "save it as UTF-8, or declare its encoding"
        case SyntaxError() | ValueError() if "null bytes" in str(error):
            message, advice = "it holds null bytes, as text in UTF-16 does", "save it as UTF-8"
        case SyntaxError():
            line, column = max(error.lineno or 1, 1), max(error.offset or 1, 1)
            span = Span(line, column, line, column + 1)
            newer = newer_syntax(error)
            if newer is not None:
                python = f"Python {newer.version[0]}.{newer.version[1]}"
                message = f"it uses {newer.what}, which {python} has and {RUNNING} does not"
                advice = f"run triton-doctor with {python} or newer"
            else:
                message = f"does not parse as {RUNNING}: {one_line(error.msg)}"
                advice = "if it is for a newer Python, run triton-doctor with that one"
        case RecursionError() | MemoryError():
            message = f"nested too deeply for {RUNNING} to parse"
        case _:
            message = f"does not parse as {RUNNING}: {one_line(str(error))}"
    return Finding(
        path=path,
        span=span,
        code=CODE,
        severity=Severity.WARNING,
        message=f"this file was not checked: {message}",
        advice=advice,
    )


def is_encoding(error: SyntaxError) -> bool:
    """Return whether `error` is about undecodable bytes, which Python reports as a syntax error."""
    return any(
        sign in error.msg for sign in ("codec can't decode", "Non-UTF-8", "unknown encoding", "encoding problem")
    )


def one_line(text: str) -> str:
    """Return `text` in the form of messages: one line, no initial capital, no full stop."""
    line = " ".join(text.split()).rstrip(".")
    return line if line[:2].isupper() else line[:1].lower() + line[1:]

"""A file that could not be read to its TRD900: what stands in the way, and where."""

from __future__ import annotations

import sys

from triton_doctor.errors import reason_of
from triton_doctor.finding import Finding, Severity, Span
from triton_doctor.regular_files import NotRegularError, TooLargeError
from triton_doctor.static.python.newer_syntax import newer_syntax

CODE = "TRD900"
RUNNING = f"Python {sys.version_info.major}.{sys.version_info.minor}"


def explain_unreadable(path: str, error: Exception) -> Finding:
    """The finding for the `error` that reading `path` raised; its span is empty where the whole file is meant."""
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
    """Whether `error` is about bytes that are no text, which Python reports as bad syntax."""
    return any(
        sign in error.msg for sign in ("codec can't decode", "Non-UTF-8", "unknown encoding", "encoding problem")
    )


def one_line(text: str) -> str:
    """`text` as messages are written: one line, no capital at its start, no full stop."""
    line = " ".join(text.split()).rstrip(".")
    return line if line[:2].isupper() else line[:1].lower() + line[1:]

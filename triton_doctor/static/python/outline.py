"""A text to its outline: functions are reduced to header and imports, so that parsing is cheap.

Indentation tells what belongs to a function. If that misleads, because a string or bracket continues at the margin, the
outline does not parse, and the full text is parsed instead.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.scan_caches import cached_in_scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DEF = re.compile(rb"^([ \t]*)(?:async[ \t]+)?def[ \t]", re.MULTILINE)
_LINE = re.compile(rb"[^\n]*\n")
_ENDS_WITH_COLON = re.compile(rb":[ \t]*(?:#[^\n]*)?\n\Z")
_IMPORT = re.compile(
    rb"^[ \t]+((?:from[ \t]+[\w.]+[ \t]*)?import\b(?:[^\n(\\]*\([^)]*\)[^\n]*|[^\n\\]*(?:\\\n[^\n\\]*)*))", re.MULTILINE
)
# An import that is not at the start of its line: `try: import numpy`.
_LATE_IMPORT = re.compile(rb"[:;][ \t]*(?:from[ \t]+[\w.]+[ \t]*)?import[ \t]")
# Longer headers are left as they are.
_MOST_HEADER_LINES = 100


class Outline(NamedTuple):
    """A `text` with the same number of lines, and the last line of each reduced function by the line of its `def`."""

    text: bytes
    ends: Mapping[int, int]


def outline(text: bytes) -> Outline:
    """Return the outline of a module's `text`, whose lines must end in newline only."""
    pieces: list[bytes] = []
    ends: dict[int, int] = {}
    taken = searched = line = 0
    in_string = False
    while found := _DEF.search(text, searched):
        start, indent = found.start(), found[1]
        in_string ^= _opens_string(text, searched, start)
        searched = start + 1
        body = _end_of_header(text, start) if not in_string else None
        end = _end_of_body(text, body, len(indent)) if body is not None else None
        if body is not None and end is not None:
            line += text.count(b"\n", taken, body)
            first = line - text.count(b"\n", start, body) + 1
            line += text.count(b"\n", body, end)
            ends[first] = line
            pieces += (text[taken:body], *_imports(text, body, end, indent + b" "))
            taken = searched = end
    pieces.append(text[taken:])
    return Outline(b"".join(pieces), ends)


def _end_of_header(text: bytes, at: int) -> int | None:
    """Return the end offset of the header that starts at `at`; None for a one-line function."""
    open_brackets = 0
    for _ in range(_MOST_HEADER_LINES):
        found = _LINE.match(text, at)
        if found is None:
            return None
        line = found[0]
        open_brackets += sum(map(line.count, (b"(", b"[", b"{"))) - sum(map(line.count, (b")", b"]", b"}")))
        at = found.end()
        if open_brackets <= 0:
            return at if open_brackets == 0 and _ENDS_WITH_COLON.search(line) else None
    return None


def _end_of_body(text: bytes, start: int, indent: int) -> int | None:
    """Return the end offset of the lines indented by more than `indent`; strings may continue at the margin.

    None if there are no such lines, if they end without a newline, or if an import in them is hard to isolate.
    """
    at = start
    while True:
        found = _leaving(indent).search(text, at)
        end = found.start() if found is not None else len(text)
        if not _opens_string(text, start, end):
            imports = text.find(b"import", start, end) != -1
            hidden = imports and _LATE_IMPORT.search(text, start, end) is not None
            return _end_of_code(text, start, end) if text.endswith(b"\n", start, end) and not hidden else None
        if found is None:
            return None
        at = found.end()


def _end_of_code(text: bytes, start: int, end: int) -> int | None:
    """Return the end offset of the last line between `start` and `end` that holds code; None if there is none."""
    while end > start:
        line = text.rfind(b"\n", start, end - 1) + 1 or start
        stripped = text[line:end].strip()
        continues = text.endswith(b"\\\n", start, line)  # such a line may end a string, and so may one with quotes
        if (stripped and not stripped.startswith(b"#")) or continues or b'"""' in stripped or b"'''" in stripped:
            return end
        end = line
    return None


@cached_in_scan()
def _leaving(indent: int) -> re.Pattern[bytes]:
    """Return a pattern for the beginning of a line that is indented by at most `indent`."""
    return re.compile(rb"^[ \t]{0,%d}[^ \t\n#]" % indent, re.MULTILINE)


def _opens_string(text: bytes, start: int, end: int) -> bool:
    """Return whether a triple-quoted string is left open between the offsets."""
    return bool(text.count(b'"""', start, end) % 2 or text.count(b"'''", start, end) % 2)


def _imports(text: bytes, start: int, end: int, indent: bytes) -> Iterator[bytes]:
    """Yield as many lines as there are between the offsets, with only the imports kept; `pass` if there are none."""
    taken = start
    holds_any = text.find(b"import", start, end) != -1
    for found in _IMPORT.finditer(text, start, end) if holds_any else ():
        if not _opens_string(text, start, found.start()):
            yield b"\n" * text.count(b"\n", taken, found.start())
            yield indent + found[1]
            taken = found.end()
    if taken == start:
        yield indent + b"pass"
    yield b"\n" * text.count(b"\n", taken, end)

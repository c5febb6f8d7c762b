"""Text to its outline: functions are a header and what they import, so that parsing it costs little.

What stands inside a function is told by indentation. Where that misleads, by a string or a bracket that goes on at
the margin, what is left of it does not parse, and the text is parsed as it is.
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
# One that does not stand at the start of its line: `try: import numpy`.
_LATE_IMPORT = re.compile(rb"[:;][ \t]*(?:from[ \t]+[\w.]+[ \t]*)?import[ \t]")
# Longer headers are left as they are.
_MOST_HEADER_LINES = 100


class Outline(NamedTuple):
    """A `text` of as many lines, and the last line of each function that is a header there, by that of its `def`."""

    text: bytes
    ends: Mapping[int, int]


def outline(text: bytes) -> Outline:
    """The outline of a module's `text`, whose lines end in a newline alone."""
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
    """Where the lines of the header that starts at `at` end; None for a function of one line."""
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
    """Where the lines end that are indented by more than `indent`, which may hold strings that go on at the margin.

    None where there are none, where they run to an end without a newline, or say of an import where it is hard to see.
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
    """Where the last line between `start` and `end` ends that is no comment and not empty; None where there is none."""
    while end > start:
        line = text.rfind(b"\n", start, end - 1) + 1 or start
        stripped = text[line:end].strip()
        continues = text.endswith(b"\\\n", start, line)  # then it may end a string, as one with quotes may
        if (stripped and not stripped.startswith(b"#")) or continues or b'"""' in stripped or b"'''" in stripped:
            return end
        end = line
    return None


@cached_in_scan()
def _leaving(indent: int) -> re.Pattern[bytes]:
    """What a line begins with that is indented by `indent` at the most."""
    return re.compile(rb"^[ \t]{0,%d}[^ \t\n#]" % indent, re.MULTILINE)


def _opens_string(text: bytes, start: int, end: int) -> bool:
    """Whether a long string that opens or closes there does so an odd number of times."""
    return bool(text.count(b'"""', start, end) % 2 or text.count(b"'''", start, end) % 2)


def _imports(text: bytes, start: int, end: int, indent: bytes) -> Iterator[bytes]:
    """As many lines as stand there, with nothing but imports at their places; `pass` where there are none."""
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

"""Removes items from a bracketed list, with their commas, and with whole lines that hold nothing else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.static.fix.text import CannotEditError, Edit
from triton_doctor.static.sources.directives import COMMENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.finding import Span
    from triton_doctor.static.fix.text import Text

# A reason ends with the line, or before the next comment.
_REASON = re.compile(r"[^\r\n#]*")

_REST_OF_LINE = re.compile(r"[ \t]*,?[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n)")
_COMMA = re.compile(r"\s*,")


def drop_items(text: Text, items: Sequence[tuple[int, int]], dropped: frozenset[int]) -> Iterator[Edit]:
    """Yield the edits that remove the items numbered in `dropped`; `items` are the bounds of all items in order."""
    first = 0
    while first < len(items):
        if first not in dropped:
            first += 1
            continue
        last = first
        while last + 1 in dropped:
            last += 1
        yield Edit(*_stretch(text, items, first, last), "")
        first = last + 1


def _stretch(text: Text, items: Sequence[tuple[int, int]], first: int, last: int) -> tuple[int, int]:
    """Return the range to remove with the items `first` to `last`."""
    start, end = items[first][0], items[last][1]
    line = text.line_start(start)
    begins_line = not text.text[line:start].strip()
    rest = _REST_OF_LINE.match(text.text, end)
    if begins_line and rest is not None:
        return line, rest.end()
    if first == 0 and last == len(items) - 1:
        comma = _COMMA.match(text.text, end)
        return start, comma.end() if comma else end
    if first == 0 or (begins_line and last + 1 < len(items)):
        return start, items[last + 1][0]
    before = items[first - 1][1]
    if "#" in text.text[before:start]:
        comma = _COMMA.match(text.text, end)
        return start, comma.end() if comma else end
    return before, end


def drop_codes(text: Text, span: Span, codes: frozenset[str]) -> Edit:
    """Return the edit that removes `codes` from the directive at `span`; with the last code, the whole directive."""
    start, end = text.bounds(span)
    found = COMMENT.fullmatch(text.text, start, end)
    if found is None or found["inner"] is None:
        raise CannotEditError("the comment is not what it was")
    kept = [code for part in found["inner"].split(",") if (code := part.strip()) and code not in codes]
    if kept:
        return Edit(found.start("inner"), found.end("inner"), ", ".join(kept))
    reason = _REASON.match(text.text, end)
    assert reason is not None
    end = reason.end()
    line = text.line_start(start)
    alone = not text.text[line:start].strip()
    if end < len(text.text) and text.text[end] == "#":
        return Edit(start, end, "")
    if alone:
        return Edit(line, text.line_end(start), "")
    return Edit(line + len(text.text[line:start].rstrip()), end, "")

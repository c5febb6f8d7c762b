"""Items to go out of a list in brackets, to edits: with their commas, and the whole lines that hold nothing else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.static.fix.text import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.fix.text import Text

_REST_OF_LINE = re.compile(r"[ \t]*,?[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n)")
_COMMA = re.compile(r"\s*,")


def drop_items(text: Text, items: Sequence[tuple[int, int]], dropped: frozenset[int]) -> Iterator[Edit]:
    """The edits that take the items numbered in `dropped` out of `items`, the bounds of all of them in order."""
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
    """What goes with the items from `first` to `last`."""
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

"""Signs of what a text may say, for which it is searched before it is parsed: a word, and what stands around it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


_ANYTHING = re.compile(b"")


class TextPattern:
    """`word` where `before` matches at its beginning and `after` at its end. Equal to itself alone, so make it once."""

    __slots__ = ("_after", "_before", "_word")

    def __init__(self, word: str, before: re.Pattern[bytes] = _ANYTHING, after: re.Pattern[bytes] = _ANYTHING) -> None:
        """The patterns are shared by many words: to compile one for each costs more than most searches."""
        self._word = word.encode()
        self._before = before
        self._after = after

    @property
    def pattern(self) -> bytes:
        """All of it as one regular expression."""
        return self._before.pattern + re.escape(self._word) + self._after.pattern

    def places(self, text: bytes) -> Iterator[int]:
        """Where it begins in `text`, in order."""
        width = len(self._word)
        at = text.find(self._word)
        while at != -1:
            if self._before.match(text, at) and self._after.match(text, at + width):
                yield at
            at = text.find(self._word, at + width)

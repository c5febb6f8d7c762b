"""Marks settings that a comment explains: a stated reason means that the variable was not left on by mistake."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.environment.setting import EnvSetting

_COMMENT = re.compile(r"\s*(?:#|//|::|[Rr][Ee][Mm]\s)(?P<text>.*)")
_BESIDE = re.compile(r"(?:^|\s)(?:#|//)\s(?P<text>.*)")
# Words that state a reason. "For debugging" is not one: that is what gets forgotten. Neither is "before torch is
# imported".
_REASON = re.compile(
    r"work-?\s?around|https?://|\b(?:hangs?|dead-?lock\w*|race|crash\w*|seg-?faults?|avoids?|prevents?|required|requires"
    r"|necessary|otherwise|because|known (?:bug|issue)|deterministic)\b",
    re.IGNORECASE,
)
_TO_DEBUG = re.compile(r"\b(?:to debug|debugging|debug only)\b", re.IGNORECASE)


def mark_explained(settings: Sequence[EnvSetting], text: str) -> tuple[EnvSetting, ...]:
    """Return `settings`, of the file `text`, with `is_explained` set where a comment beside or right
    above gives a reason.
    """
    if not settings:
        return ()
    lines = text.split("\n")
    return tuple(
        replace(one, is_explained=True) if _gives_reason(" ".join(_comments_at(lines, one.span.line))) else one
        for one in settings
    )


def _gives_reason(comment: str) -> bool:
    return _REASON.search(comment) is not None and _TO_DEBUG.search(comment) is None


def _comments_at(lines: Sequence[str], line: int) -> Iterator[str]:
    """Yield the comments on line number `line` and on the lines right above it."""
    if 0 < line <= len(lines) and (beside := _BESIDE.search(lines[line - 1])):
        yield beside["text"]
    above = line - 1
    while 0 < above <= len(lines) and (comment := _COMMENT.fullmatch(lines[above - 1])):
        yield comment["text"]
        above -= 1

"""Blocks in braces to the conditions over each line, for languages with `if (...) { ... }`."""

from __future__ import annotations

import re

_QUOTED = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_CONDITION = re.compile(r"\b(?:if|elseif|else|switch|case|when|catch|try)\b(.*)", re.IGNORECASE)


def conditions(text: str) -> list[tuple[str, ...]]:
    """Return, for each line of `text`, the tests of the blocks around it or beginning in it, outermost first.

    Braces in quotes do not count.
    """
    stack: list[str | None] = []
    found = []
    for line in text.split("\n"):
        test = _CONDITION.search(line)
        arm = (test[1] or "else") if test else None
        stood = list(stack)
        for brace in re.findall(r"[{}]", _QUOTED.sub("", line)):
            if brace == "{":
                stack.append(arm)
                stood.append(arm)
            elif stack:
                stack.pop()
                stood = stood if len(stood) > len(stack) + 1 else list(stack)
        found.append(tuple(test for test in stood if test is not None))
    return found


def blanked(text: str, comments: re.Pattern[str]) -> str:
    """Return `text` with matches of `comments` outside quotes replaced by spaces; positions stay the same."""
    either = re.compile(rf"(?P<quoted>{_QUOTED.pattern})|(?P<comment>{comments.pattern})", comments.flags)
    return either.sub(lambda found: found[0] if found["quoted"] else re.sub(r"[^\n]", " ", found[0]), text)

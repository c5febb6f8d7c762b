"""Text searches for launches: which files and functions are worth reading for them."""

from __future__ import annotations

import re

from triton_doctor.static.python.function_body import LAUNCHING_METHODS

# A called subscript, but not `table["key"](x)`, and not a Markdown link.
_LAUNCH = re.compile(rb"\](?<![\"']\])\((?!https?:)")
# The line before the bracket of `add[grid] (x)`: it begins a statement, since prose has a space there as well.
_BEFORE_SPACE = re.compile(rb"[ \t]*(?:(?:\w+[ \t]*=[ \t]*)?[\w.]+\[.*)?")
_METHODS = tuple(f".{name}(".encode() for name in sorted(LAUNCHING_METHODS))


def calls_subscript(data: bytes) -> bool:
    """Return whether `data` may call a subscript, as every launch does that is not by a method."""
    return b"](" in data or _calls_after_space(data)


def may_launch(data: bytes) -> bool:
    """Return whether a file that holds `data` may contain something that `Body` reads as a launch."""
    by_method = b"grid" in data and any(text in data for text in _METHODS)
    return by_method or (b"](" in data and _LAUNCH.search(data) is not None) or _calls_after_space(data)


def _calls_after_space(data: bytes) -> bool:
    at = data.find(b"] (")
    while at != -1:
        if _BEFORE_SPACE.fullmatch(data, data.rfind(b"\n", 0, at) + 1, at):
            return True
        end = data.find(b"\n", at)  # what begins this line does not begin a launch further on in it
        at = data.find(b"] (", end) if end != -1 else -1
    return False

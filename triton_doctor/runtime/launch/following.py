"""Which commands are Python, and which of them cannot be followed: also asked in each Python that is watched."""

from __future__ import annotations

import os
import re

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

TAKE_A_VALUE = "XW"
END_THE_OPTIONS = "cm"
# -E and -I ignore PYTHONPATH, -S does not import sitecustomize (docs.python.org, command line).
DISABLE_SITE = "EIS"


def is_python(program: str) -> bool:
    """Return whether `program` has the name of a Python interpreter: `python`, `/usr/bin/python3.12`."""
    return re.fullmatch(r"python[\d.]*[td]*", os.path.basename(program)) is not None


def find_blocking_option(command: Sequence[str]) -> str | None:
    """Return the Python option in `command` that disables site packages: `-E`, `-I`, `-S`; else None."""
    if not command or not is_python(command[0]):
        return None
    words = list(command[1:])
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word in ("-", "--") or word.startswith("--"):
            return None
        for index, option in enumerate(word[1:], 1):
            if option in DISABLE_SITE:
                return f"-{option}"
            if option in END_THE_OPTIONS:
                return None
            if option in TAKE_A_VALUE:
                if index == len(word) - 1 and words:
                    words.pop(0)
                break
    return None


def describe_unfollowed(command: Sequence[str], reason: str) -> str:
    """Describe, in one line, a process that cannot be recorded."""
    words = " ".join(" ".join(command).split())
    shown = words if len(words) <= 80 else words[:77] + "..."
    return f"`{shown}` was not followed: {reason}"

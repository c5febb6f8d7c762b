"""The words of one command: the assignments before it, and the program that it runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.static.environment.settings_files.shell_guards import KEYWORDS

if TYPE_CHECKING:
    from triton_doctor.static.environment.settings_files.shell_words import Word

ASSIGNMENT = re.compile(r"[\"']?([A-Za-z_]\w*)\+?=")


def split(words: list[Word]) -> tuple[list[Word], list[Word]]:
    """The assignments at the front of `words`, and the rest."""
    for place, word in enumerate(words):
        if not re.match(r"[A-Za-z_]\w*\+?=", word.raw):
            return words[:place], words[place:]
    return words, []


def pair(word: Word) -> tuple[str, str | None]:
    """Name and value of an assignment; None for a value that is not all known."""
    match = ASSIGNMENT.match(word.raw)
    name = match[1] if match else word.raw
    if word.text is None:
        return name, None
    return name, word.text.partition("=")[2]


def program(words: list[Word]) -> str:
    """The name of the program that `words` run, its folder left out; nothing for none."""
    _, rest = split([word for word in words if word.text not in KEYWORDS])
    rest = [word for word in rest if word.text not in {"sudo", "env"} and not word.raw.startswith("-")]
    return (rest[0].text or "").rpartition("/")[2] if rest else ""

"""Shell control flow: is a command certain to run? Tracks blocks, `&&` after a test, `||` after what may fail."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.static.environment.settings_files.shell_words import KEYWORDS

if TYPE_CHECKING:
    from triton_doctor.static.environment.settings_files.shell_words import Word

# Deeper blocks and longer tests always guard, so that a command takes the same time wherever it is.
_MOST_BLOCKS, _LONGEST_TEST = 64, 1000
_TESTS = frozenset({"[", "[[", "test", "((", "grep", "command", "which", "type", "nvidia-smi", "rocm-smi", "false"})


class Guards:
    """The conditions over the commands of one script, which are read in order."""

    def __init__(self) -> None:
        self._blocks: list[str | None] = []
        self._case_depth = 0
        self._before: str | None = None
        self._condition = ""

    def join(self, operator: str, words: list[Word]) -> None:
        """Process `operator`, which ends the command `words`: it may make the next command conditional."""
        raw = " ".join(word.raw for word in words)
        first = next((word.text or "" for word in words), "")
        bare = [word for word in words if word.text not in {"!", "if", "elif"}]
        tests = bool(bare) and (bare[0].text in _TESTS)
        if operator == "&&":
            self._before = raw if tests and first not in {"if", "elif", "while"} else self._before
        elif operator == "||":
            self._before = raw or "||"
        elif operator in {";", "newline", "&", ";;", ")"}:
            self._before = None

    def decide(self, name: str | None) -> bool:
        """Return whether a test decides over the next command; a test for the variable `name` alone does not count."""
        if self._case_depth > 0 or len(self._blocks) > _MOST_BLOCKS:
            return True
        return any(test is not None and not _is_absence(test, name) for test in (*self._blocks, self._before))

    def take_keywords(self, words: list[Word]) -> list[Word]:
        """Remove keywords from the front of a command, and track the blocks that they open and close."""
        tested = None
        for number, word in enumerate(words):
            if word.quoted or (word.text not in KEYWORDS and word.text not in {"case", "for", "function"}):
                break
            match word.text:
                case "if" | "elif":
                    if word.text == "elif" and self._blocks:
                        self._blocks.pop()
                    self._blocks.append(None)
                    tested = number + 1
                case "then":
                    if self._blocks:
                        self._blocks[-1] = self._condition
                case "else":
                    if self._blocks:
                        self._blocks[-1] = "else"
                case "fi":
                    if self._blocks:
                        self._blocks.pop()
                case "case":
                    self._case_depth += 1
                    return []
                case "esac":
                    self._case_depth = max(0, self._case_depth - 1)
                case "for" | "function":
                    return []
        else:
            number = len(words)
        if tested is not None:
            self._condition = " ".join(word.raw for word in words[tested:])
        return words[number:]


def _is_absence(test: str, name: str | None) -> bool:
    """Return whether `test` only tests that the variable `name` is unset."""
    if name is None or len(test) > _LONGEST_TEST or not re.search(rf"\b{re.escape(name)}\b", test):
        return False
    return bool(re.search(r"(?:^|\s)(?:-z|-n|-v|!)\s", test))

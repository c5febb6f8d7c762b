"""Shell control flow: is a command certain to run? Tracks blocks, `&&` after a test, `||` after what may fail."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.static.environment.settings_files.shell_words import KEYWORDS

if TYPE_CHECKING:
    from triton_doctor.static.environment.settings_files.shell_words import Word

_MOST_WORDS = 2000
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
        tests = [*self._blocks, self._before]
        return self._case_depth > 0 or any(test is not None and not _is_absence(test, name) for test in tests)

    def take_keywords(self, words: list[Word]) -> list[Word]:
        """Remove keywords from the front of a command, and track the blocks that they open and close."""
        words = words[:_MOST_WORDS]
        while (
            words
            and not words[0].quoted
            and (words[0].text in KEYWORDS or words[0].text in {"case", "for", "function"})
        ):
            match words[0].text:
                case "if" | "elif":
                    condition = " ".join(word.raw for word in words[1:])
                    if words[0].text == "elif" and self._blocks:
                        self._blocks.pop()
                    self._blocks.append(None)
                    self._condition = condition
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
                case _:
                    pass
            words = words[1:]
        return words


def _is_absence(test: str, name: str | None) -> bool:
    """Return whether `test` only tests that the variable `name` is unset."""
    if name is None or not re.search(rf"\b{re.escape(name)}\b", test):
        return False
    return bool(re.search(r"(?:^|\s)(?:-z|-n|-v|!)\s", test))

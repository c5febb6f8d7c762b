"""Shell control flow to whether a command runs for certain: blocks, `&&` after a test, `||` after what may fail."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.static.environment.settings_files.shell_words import KEYWORDS

if TYPE_CHECKING:
    from triton_doctor.static.environment.settings_files.shell_words import Word

_MOST_WORDS = 2000
_TESTS = frozenset({"[", "[[", "test", "((", "grep", "command", "which", "type", "nvidia-smi", "rocm-smi", "false"})


class Guards:
    """What decides over the commands of one script, as they are read in order."""

    def __init__(self) -> None:
        self._blocks: list[str | None] = []
        self._case_depth = 0
        self._before: str | None = None
        self._condition = ""

    def join(self, operator: str, words: list[Word]) -> None:
        """`operator` ends the command `words`: what does that say of the next one?"""
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
        """Whether a test decides over the command to come; one that asks for the variable `name` alone does not."""
        tests = [*self._blocks, self._before]
        return self._case_depth > 0 or any(test is not None and not _is_absence(test, name) for test in tests)

    def take_keywords(self, words: list[Word]) -> list[Word]:
        """Takes keywords off the front, and keeps count of the blocks they open and close."""
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
    """Whether `test` only asks whether the variable `name` has a value yet."""
    if name is None or not re.search(rf"\b{re.escape(name)}\b", test):
        return False
    return bool(re.search(r"(?:^|\s)(?:-z|-n|-v|!)\s", test))

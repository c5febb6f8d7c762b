"""Patterns of .gitignore files and of settings to an answer: is this path left out?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pathspec import GitIgnoreSpec

# How pathspec spells the beginning of a pattern without a slash.
_IN_ANY_FOLDER = "^(?:.+/)?"


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """Patterns in the form of .gitignore, relative to `root`; `any_of` is all of them in one."""

    root: str
    spec: GitIgnoreSpec
    any_of: re.Pattern[str]

    def verdict(self, path: str) -> bool | None:
        """True to leave `path` out, False to keep it against earlier rules, None without a word on it.

        `path` is absolute and posix, a folder's ends with a slash. Only `path` itself is asked about: a walk that
        comes to it has asked about the folders above.
        """
        if not path.startswith(self.root):
            return None
        inner = path[len(self.root) :]
        # pathspec tries pattern after pattern, a hundred for each file; most match none.
        return self.spec.check_file(inner).include if self.any_of.search(inner) else None


def compile_rules(root: Path, patterns: Iterable[str]) -> IgnoreRules | None:
    """The rules that `patterns` make; None for no patterns, which spares the import of pathspec."""
    kept = [line for line in patterns if line.strip() and not line.startswith("#")]
    if not kept:
        return None
    from pathspec import GitIgnoreSpec

    try:
        spec = GitIgnoreSpec.from_lines(kept)
    except (ValueError, re.error):
        # git passes over a line that it does not understand
        spec = GitIgnoreSpec.from_lines(line for line in kept if is_pattern(line))
    return IgnoreRules(f"{root.as_posix().rstrip('/')}/", spec, _any_of(spec))


def _any_of(spec: GitIgnoreSpec) -> re.Pattern[str]:
    """What matches where one of the patterns does; their groups have names, which one expression cannot repeat.

    Most may match in any folder: all of those look for the next folder together, in a fourth of the time.
    """
    texts = (regex.pattern for pattern in spec.patterns if (regex := pattern.regex) is not None)
    each = [re.sub(r"\(\?P<\w+>", "(?:", text) for text in texts]
    anywhere = [one.removeprefix(_IN_ANY_FOLDER) for one in each if one.startswith(_IN_ANY_FOLDER)]
    others = [one for one in each if not one.startswith(_IN_ANY_FOLDER)]
    return re.compile("|".join([f"{_IN_ANY_FOLDER}(?:{'|'.join(anywhere) or '(?!)'})", *others]))


def is_pattern(line: str) -> bool:
    """Whether pathspec can read `line`."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True

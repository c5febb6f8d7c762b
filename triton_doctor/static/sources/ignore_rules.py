"""Patterns of .gitignore files and of settings to an answer: is this path left out?"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pathspec import GitIgnoreSpec


_LOG = logging.getLogger(__name__)
# Each is tried on each path. The longest that people write have some hundreds.
_MOST_PATTERNS = 10_000
# How pathspec spells the beginning of a pattern without a slash, `*`, and `/**` between two folders.
_IN_ANY_FOLDER = "^(?:.+/)?"
_STAR, _FOLDERS = "[^/]*", "(?:/.+)?"
_PART = re.compile(r"\[\^/\]\*|\(\?:/\.\+\)\?|\\.|\[\^?\]?(?:\\.|[^\]])*\]|.", re.DOTALL)


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
    if len(kept) > _MOST_PATTERNS:
        _LOG.warning("triton-doctor: of %s patterns in %s, the first %s count", len(kept), root, _MOST_PATTERNS)
        del kept[_MOST_PATTERNS:]
    from pathspec import GitIgnoreSpec

    try:
        spec = GitIgnoreSpec.from_lines(kept)
    except (ValueError, re.error):
        # git passes over a line that it does not understand
        spec = GitIgnoreSpec.from_lines(line for line in kept if is_pattern(line))
    for pattern in spec.patterns:
        if pattern.regex is not None and isinstance(pattern.regex.pattern, str):
            written = without_backtracking(pattern.regex.pattern)
            if written != pattern.regex.pattern:
                pattern.regex = re.compile(written)
    return IgnoreRules(f"{root.as_posix().rstrip('/')}/", spec, _any_of(spec))


def without_backtracking(regex: str) -> str:
    """Rewrite `regex`, as pathspec spells a pattern, to one that matches the same paths in time linear in their length.

    Between two stars, the first place at which a text fits is as good as any later one: the search for it, in an atomic
    group, is never repeated. So it is for what stands between two `/**`.
    """
    parts = _PART.findall(regex)
    last_folders = max((at for at, part in enumerate(parts) if part == _FOLDERS), default=-1)
    written = list[str]()
    for at, part in enumerate(parts):
        if part == _FOLDERS:
            # A folder ends where the next begins.
            closing = "(?=/))" if _FOLDERS in parts[:at] else ""
            written += [closing, "(?>(?:/.+?)??" if at < last_folders else part]
        elif part == _STAR:
            if parts[at + 1 : at + 2] != [_STAR]:
                written += _star(parts, at)
        else:
            # In git a class of letters matches no slash (its fnmatch is called with WM_PATHNAME).
            written.append(f"(?!/){part}" if len(part) > 1 and part.startswith("[") and part != "[^/]" else part)
            if _closes_star(parts, at):
                written.append(")")
    return "".join(written)


def _star(parts: list[str], at: int) -> list[str]:
    """The star at `at`: the beginning of an atomic group, where another follows in the same folder."""
    following = next((part for part in parts[at + 1 :] if part in (_STAR, _FOLDERS, "/", "(")), "")
    return ["(?>[^/]*?"] if following == _STAR else [_STAR]


def _closes_star(parts: list[str], at: int) -> bool:
    """Whether the part at `at` is the last between two stars of one folder."""
    if parts[at + 1 : at + 2] != [_STAR]:
        return False
    before = next((part for part in reversed(parts[: at + 1]) if part in (_STAR, _FOLDERS, "/", ")")), "")
    return before == _STAR


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


class PathPatterns:
    """The paths, as findings spell them, that `patterns` relative to `root` match; all of them with `names_root`.

    `names_root` says that the name of the folder `root`, in small letters, counts as one of a folder in it does.
    """

    def __init__(self, root: Path, patterns: Sequence[str], cwd: Path, *, names_root: bool = False) -> None:
        """Paths are relative to `cwd` where they can be; patterns are compiled for the first that is asked about."""
        self._root = root
        self._patterns = patterns
        self._cwd = cwd
        self._names_root = names_root
        self._known: dict[str, bool] = {}

    @cached_property
    def _rules(self) -> IgnoreRules | None:
        return compile_rules(self._root, self._patterns)

    @cached_property
    def _holds_all(self) -> bool:
        if not (self._names_root and self._root.name and self._rules is not None):
            return False
        return self._rules.spec.check_file(f"{self._root.name.lower()}/x").include is True

    def __contains__(self, path: object) -> bool:
        if not isinstance(path, str):
            return False
        known = self._known.get(path)
        if known is None:
            known = self._holds_all or bool(self._rules and self._rules.verdict((self._cwd / path).as_posix()))
            self._known[path] = known
        return known

"""Patterns of .gitignore files and of settings to a decision: is this path left out?"""

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
# Every pattern is tried on every path. The longest lists that people write have some hundreds.
_MOST_PATTERNS = 10_000
# The regular expressions that pathspec makes of a pattern without a slash, of `*`, and of `/**/`.
_IN_ANY_FOLDER = "^(?:.+/)?"
_STAR, _FOLDERS = "[^/]*", "(?:/.+)?"
_PART = re.compile(r"\[\^/\]\*|\(\?:/\.\+\)\?|\\.|\[\^?\]?(?:\\.|[^\]])*\]|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """Patterns in the form of .gitignore, relative to `root`. `any_of` matches what any of them matches."""

    root: str
    spec: GitIgnoreSpec
    any_of: re.Pattern[str]

    def verdict(self, path: str) -> bool | None:
        """Return True to leave `path` out, False to keep it against earlier rules, None if no pattern matches.

        `path` is absolute and posix; a folder's ends with a slash. The folders above `path` are not checked: a walk
        that reaches it has checked them.
        """
        if not path.startswith(self.root):
            return None
        inner = path[len(self.root) :]
        # pathspec tries one pattern after the other, a hundred for each file; most match none.
        return self.spec.check_file(inner).include if self.any_of.search(inner) else None


def compile_rules(root: Path, patterns: Iterable[str]) -> IgnoreRules | None:
    """Return the rules for `patterns`; None if there are none, which spares the import of pathspec."""
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
        # git skips a line that it does not understand
        spec = GitIgnoreSpec.from_lines(line for line in kept if is_pattern(line))
    for pattern in spec.patterns:
        if pattern.regex is not None and isinstance(pattern.regex.pattern, str):
            written = without_backtracking(pattern.regex.pattern)
            if written != pattern.regex.pattern:
                pattern.regex = re.compile(written)
    return IgnoreRules(f"{root.as_posix().rstrip('/')}/", spec, _any_of(spec))


def without_backtracking(regex: str) -> str:
    """Rewrite `regex`, as pathspec makes it, to match the same paths in time linear in their length.

    Between two stars, the first place where a text fits is as good as any later one, so the search for it goes into an
    atomic group, which is never retried. The same holds for the parts between two `/**/`.
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
    """Return the pieces for the star at `at`: it begins an atomic group if another star follows in the same folder."""
    following = next((part for part in parts[at + 1 :] if part in (_STAR, _FOLDERS, "/", "(")), "")
    return ["(?>[^/]*?"] if following == _STAR else [_STAR]


def _closes_star(parts: list[str], at: int) -> bool:
    """Return whether the part at `at` is the last between two stars of one folder."""
    if parts[at + 1 : at + 2] != [_STAR]:
        return False
    before = next((part for part in reversed(parts[: at + 1]) if part in (_STAR, _FOLDERS, "/", ")")), "")
    return before == _STAR


def _any_of(spec: GitIgnoreSpec) -> re.Pattern[str]:
    """Return one expression that matches if any pattern does. Group names are removed, since they may not repeat.

    Most patterns match in any folder: those share one search for the next folder, which takes a quarter of the time.
    """
    texts = (regex.pattern for pattern in spec.patterns if (regex := pattern.regex) is not None)
    each = [re.sub(r"\(\?P<\w+>", "(?:", text) for text in texts]
    anywhere = [pattern.removeprefix(_IN_ANY_FOLDER) for pattern in each if pattern.startswith(_IN_ANY_FOLDER)]
    others = [pattern for pattern in each if not pattern.startswith(_IN_ANY_FOLDER)]
    return re.compile("|".join([f"{_IN_ANY_FOLDER}(?:{'|'.join(anywhere) or '(?!)'})", *others]))


def is_pattern(line: str) -> bool:
    """Return whether pathspec can parse `line`."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True


class PathPatterns:
    """The set of paths, as findings spell them, that match `patterns` relative to `root`.

    If the lower-case name of `root` itself matches `root_patterns`, as a folder, all paths do.
    """

    def __init__(self, root: Path, patterns: Sequence[str], cwd: Path, *, root_patterns: Sequence[str] = ()) -> None:
        """Paths are relative to `cwd` if they lie below it; patterns are compiled for the first path looked up."""
        self._root = root
        self._patterns = patterns
        self._root_patterns = root_patterns
        self._cwd = cwd
        self._known: dict[str, bool] = {}

    @cached_property
    def _rules(self) -> IgnoreRules | None:
        return compile_rules(self._root, self._patterns)

    @cached_property
    def _holds_all(self) -> bool:
        rules = compile_rules(self._root, self._root_patterns) if self._root.name else None
        return rules is not None and rules.spec.check_file(f"{self._root.name.lower()}/x").include is True

    def __contains__(self, path: object) -> bool:
        if not isinstance(path, str):
            return False
        known = self._known.get(path)
        if known is None:
            known = self._holds_all or bool(self._rules and self._rules.verdict((self._cwd / path).as_posix()))
            self._known[path] = known
        return known

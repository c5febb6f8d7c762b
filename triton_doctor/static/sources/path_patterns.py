"""Patterns of the settings to the files that they name: those that only test, that measure or that teach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.sources.ignore_rules import compile_rules

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Paths:
    """The paths, as findings spell them, that `patterns` relative to `root` match; all of them with `names_root`.

    `names_root` says that the name of the folder `root`, in small letters, counts as one of a folder in it does.
    """

    def __init__(self, root: Path, patterns: Sequence[str], cwd: Path, *, names_root: bool = False) -> None:
        """Paths are relative to `cwd` where they can be."""
        if names_root and root.name:
            above = compile_rules(root.parent, patterns)
            self._holds_all = above is not None and above.verdict(f"{root.parent / root.name.lower()}/x") is True
        else:
            self._holds_all = False
        self._rules = compile_rules(root, patterns)
        self._cwd = cwd
        self._known: dict[str, bool] = {}

    def __contains__(self, path: object) -> bool:
        if not isinstance(path, str):
            return False
        if self._holds_all:
            return True
        if path not in self._known:
            self._known[path] = bool(self._rules and self._rules.verdict((self._cwd / path).as_posix()))
        return self._known[path]

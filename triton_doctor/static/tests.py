"""Settings to the files that only test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.ignore_rules import compile_rules

if TYPE_CHECKING:
    from pathlib import Path

    from triton_doctor.settings import Settings


class Tests:
    """The paths, as findings spell them, that `settings` call tests."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        """Paths are relative to `cwd` where they can be."""
        self._rules = compile_rules(settings.root, settings.tests)
        self._cwd = cwd
        self._known: dict[str, bool] = {}

    def __contains__(self, path: object) -> bool:
        if not isinstance(path, str):
            return False
        if path not in self._known:
            self._known[path] = bool(self._rules and self._rules.verdict((self._cwd / path).as_posix()))
        return self._known[path]

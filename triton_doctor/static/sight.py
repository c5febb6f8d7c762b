"""Files to whether the scan saw all Python that can use what they define."""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from triton_doctor.regular_files import read_regular_file

if TYPE_CHECKING:
    from pathlib import Path

    from triton_doctor.finding import Finding

# More files than this beside a program are not looked through.
_MOST_FILES = 300


class Sight:
    """What lies around the files of a scan. A fix that rests on seeing all uses of a file is judged by it."""

    def __init__(self, scanned: frozenset[str], cwd: Path) -> None:
        """`scanned` are the files of the scan, paths as findings spell them, relative to `cwd` where they can be."""
        self._scanned = scanned
        self._cwd = cwd
        self._sources = cache(self._listed)
        self._text = cache(self._read)

    def judge(self, finding: Finding) -> Finding:
        """The finding, its fix less safe or gone where it rests on what was seen in part alone."""
        fix = finding.fix
        if fix is None or fix.rests_on is None or not self.is_partial(fix.rests_on):
            return finding
        return replace(finding, fix=replace(fix, safety=fix.unseen) if fix.unseen is not None else None)

    def is_partial(self, path: str) -> bool:
        """Whether Python outside the scan may use the file at `path`.

        A view of a package is partial where a file of it was not scanned; that of a program beside others, where one of
        them was not scanned and names it.
        """
        folder = posixpath.dirname(path)
        if self._is_package(folder):
            return self._is_package_partial(folder)
        unseen = self._sources(folder) - self._scanned
        name = re.compile(rb"\b%s\b" % re.escape(os.fsencode(posixpath.basename(path).removesuffix(".py"))))
        return len(unseen) > _MOST_FILES or any(name.search(self._text(one)) for one in unseen)

    def _is_package(self, folder: str) -> bool:
        return posixpath.join(folder, "__init__.py") in self._sources(folder)

    def _is_package_partial(self, folder: str) -> bool:
        if not self._sources(folder) <= self._scanned:
            return True
        above = posixpath.dirname(folder)
        return above != folder and self._is_package(above) and self._is_package_partial(above)

    def _listed(self, folder: str) -> frozenset[str]:
        try:
            with os.scandir(self._cwd / folder) as entries:
                return frozenset(posixpath.join(folder, one.name) for one in entries if one.name.endswith(".py"))
        except OSError:
            return frozenset()

    def _read(self, path: str) -> bytes:
        try:
            return read_regular_file(self._cwd / path)
        except OSError:
            return b""

"""Files to whether the scan saw all Python that can use what they define."""

from __future__ import annotations

import os
import posixpath
import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# More files than this beside a program are not looked through.
_MOST_FILES = 300


class Sight(NamedTuple):
    """Folders that are Python `packages`, and the files of which there are `partial` views, as findings spell them."""

    packages: frozenset[str]
    partial: frozenset[str]


def survey(paths: Iterable[str], files: Iterable[str], cwd: Path) -> Sight:
    """What the files at `paths` stand in, in a scan of `files`, paths as findings spell them.

    A view of a package is partial where a file of it was not scanned; that of a program beside others, where one of
    them was not scanned and names it.
    """
    around = _Surroundings(frozenset(files), cwd)
    wanted = list(paths)
    folders = {posixpath.dirname(path) for path in wanted}
    packages = frozenset(filter(around.is_package, folders))
    return Sight(packages, frozenset(path for path in wanted if around.is_partial(path)))


class _Surroundings:
    def __init__(self, scanned: frozenset[str], cwd: Path) -> None:
        self._scanned = scanned
        self._cwd = cwd
        self._sources = cache(self._listed)
        self._text = cache(self._read)

    def is_package(self, folder: str) -> bool:
        return posixpath.join(folder, "__init__.py") in self._sources(folder)

    def is_partial(self, path: str) -> bool:
        folder = posixpath.dirname(path)
        if self.is_package(folder):
            return self._is_package_partial(folder)
        unseen = self._sources(folder) - self._scanned
        name = re.compile(rb"\b%s\b" % re.escape(posixpath.basename(path).removesuffix(".py").encode()))
        return len(unseen) > _MOST_FILES or any(name.search(self._text(one)) for one in unseen)

    def _is_package_partial(self, folder: str) -> bool:
        if not self._sources(folder) <= self._scanned:
            return True
        above = posixpath.dirname(folder)
        return above != folder and self.is_package(above) and self._is_package_partial(above)

    def _listed(self, folder: str) -> frozenset[str]:
        try:
            with os.scandir(self._cwd / folder) as entries:
                return frozenset(posixpath.join(folder, one.name) for one in entries if one.name.endswith(".py"))
        except OSError:
            return frozenset()

    def _read(self, path: str) -> bytes:
        try:
            return (self._cwd / path).read_bytes()
        except OSError:
            return b""

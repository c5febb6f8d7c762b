"""Folders to whether all Python around a file is part of the scan, so that nothing unseen can use what it defines."""

from __future__ import annotations

import os
import posixpath
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Sight(NamedTuple):
    """Folders, as findings spell them: those that are Python `packages`, and those of which the scan is `partial`."""

    packages: frozenset[str]
    partial: frozenset[str]


def survey(folders: Iterable[str], files: Iterable[str], cwd: Path) -> Sight:
    """What `folders` are, in a scan of `files`, paths as findings spell them."""
    scanned = frozenset(files)

    @cache
    def sources(folder: str) -> frozenset[str]:
        try:
            with os.scandir(cwd / folder) as entries:
                return frozenset(posixpath.join(folder, one.name) for one in entries if one.name.endswith(".py"))
        except OSError:
            return frozenset()

    def is_package(folder: str) -> bool:
        return posixpath.join(folder, "__init__.py") in sources(folder)

    @cache
    def is_partial(folder: str) -> bool:
        if not sources(folder) <= scanned:
            return True
        above = posixpath.dirname(folder)
        return is_package(folder) and above != folder and bool(folder) and is_package(above) and is_partial(above)

    wanted = frozenset(folders)
    return Sight(frozenset(filter(is_package, wanted)), frozenset(filter(is_partial, wanted)))

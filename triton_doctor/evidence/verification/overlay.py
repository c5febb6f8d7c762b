"""Builds a folder of links to a source tree, with some files replaced: what imports find after a fix."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Importable(NamedTuple):
    """A file as imports know it: `module` below the folder `root`."""

    root: Path
    module: str


def importable(path: Path) -> Importable:
    """Return the folder above the outermost package around `path`, and the module's dotted name from there."""
    folder, parts = path.parent, [path.stem]
    while (folder / "__init__.py").exists():
        parts.append(folder.name)
        folder = folder.parent
    if parts[0] == "__init__":
        parts = parts[1:]
    return Importable(folder, ".".join(reversed(parts)))


def overlay(root: Path, files: Mapping[Path, bytes], into: Path) -> None:
    """Fill `into` with links to all that `root` holds, and write `files`, which replace those of the same path."""
    changed = {path.relative_to(root).parts: data for path, data in files.items() if path.is_relative_to(root)}
    _mirror(root, into, changed)


def _mirror(source: Path, target: Path, changed: Mapping[tuple[str, ...], bytes]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    inner: dict[str, dict[tuple[str, ...], bytes]] = {}
    for parts, data in changed.items():
        inner.setdefault(parts[0], {})[parts[1:]] = data
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.name == "__pycache__":
                continue
            below = inner.get(entry.name)
            if below is None:
                (target / entry.name).symlink_to(source / entry.name)
            elif () in below:
                (target / entry.name).write_bytes(below[()])
            else:
                _mirror(source / entry.name, target / entry.name, below)

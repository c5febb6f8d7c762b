"""Picks the related files out of a folder that has no project marker.

Such a folder may hold one project or many unrelated ones. It is divided into entries: each file in it, and each folder
with everything below. Two entries are related if either imports the other by name. Every absolute import of a module in
an entry, and every relative import of it from outside, contains that name.

A file that reaches an entry without its name, as with `src` on Python's path, is not read: the resolver could not
follow it either. The safety of a fix is checked against the text of all files.

The entries lie in the folder that the paths have in common, or in the nearest folder above it that holds no Python file
itself, and in the folders above that one. An entry is never divided.
"""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from triton_doctor.static.sources.contents import read_bytes
from triton_doctor.static.sources.files import FileKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.sources.files import SourceFile

# An import statement up to its parenthesis: the name of a module never comes after that.
_IMPORT = re.compile(rb"^[^\n]*\bimport\b[^\n]*(?:(?<=\\)\n[^\n]*)*", re.MULTILINE)
_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")


def related_files(
    root: str, files: Sequence[SourceFile], named_paths: Sequence[str]
) -> tuple[list[SourceFile], list[str]]:
    """Return those of `files` (all below `root`) related to `named_paths`, and the paths of their entries.

    Settings files in `root`, or in a folder above an entry, are always included.
    """
    search = _EntrySearch(_folders_of_entries(root, files, named_paths), files)
    entries = search.related_to(named_paths)
    return [file for entry in entries for file in search.files[entry]], entries


def _folders_of_entries(root: str, files: Sequence[SourceFile], named_paths: Sequence[str]) -> list[str]:
    """Return the folders that contain entries, from `root` down."""
    holding = {file.name.rpartition("/")[0] for file in files if file.kind is FileKind.PYTHON}
    lowest = os.path.commonpath([path.rpartition("/")[0] for path in named_paths])
    while lowest != root and lowest in holding:
        lowest = lowest.rpartition("/")[0]
    folders = [root]
    for part in PurePosixPath(lowest).relative_to(root).parts:
        folders.append(f"{folders[-1]}/{part}")
    return folders


class _EntrySearch:
    """Finds entries of `folders` that import each other. `files` are the files of each entry, by its path."""

    def __init__(self, folders: Sequence[str], files: Sequence[SourceFile]) -> None:
        """Group `files` by entry; no file is read yet."""
        self._folders = [f"{folder}/" for folder in reversed(folders)]
        self.files: dict[str, list[SourceFile]] = {}
        for file in files:
            self.files.setdefault(self._entry_of(file.name), []).append(file)
        self._imported: dict[str, frozenset[bytes]] = {}

    def related_to(self, named_paths: Sequence[str]) -> list[str]:
        """Return the entries of `named_paths` and every entry connected to them by imports, directly or not."""
        related = {entry for entry in map(self._entry_of, named_paths) if entry in self.files}
        pending = sorted(related)
        while pending:
            entry = pending.pop()
            found = [
                other
                for other in self.files
                if other not in related and (self._imports(entry, other) or self._imports(other, entry))
            ]
            related.update(found)
            pending += found
        settings = {own[0].name for own in self.files.values() if own[0].kind is FileKind.SETTINGS}
        return [entry for entry in self.files if entry in related or entry in settings]

    def _entry_of(self, path: str) -> str:
        folder = next(candidate for candidate in self._folders if path.startswith(candidate))
        return folder + path.removeprefix(folder).partition("/")[0]

    def _imports(self, entry: str, other: str) -> bool:
        """Return whether a file of `entry` may import `other`. False if the name of `other` is not an identifier."""
        name = PurePosixPath(other).stem
        if not name.isidentifier():
            return False
        if entry not in self._imported:
            texts = (_text_of(file) for file in self.files[entry] if file.kind is FileKind.PYTHON)
            found = (word for text in texts for line in _IMPORT.findall(text) for word in _WORD.findall(line))
            self._imported[entry] = frozenset(found)
        return os.fsencode(name) in self._imported[entry]


def _text_of(file: SourceFile) -> bytes:
    try:
        return read_bytes(file)
    except OSError:
        return b""

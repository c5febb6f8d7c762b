"""Paths to a workspace: the files of the projects that they belong to, and which of these to report on.

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
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from triton_doctor.static.sources.contents import read_bytes
from triton_doctor.static.sources.files import EXCLUDED, FileKind, SourceFile, find_files, kind_of, shown_path
from triton_doctor.static.sources.pinned_triton import find_pinned_triton, find_required

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.settings import Settings

# The nearest folder that contains one of these is the root of a project.
_MARKERS = ("pyproject.toml", "setup.cfg", ".git")
_PACKAGE = "__init__.py"
# A folder with more files is not a project but a home folder or a disk. Triton's largest users have 6,000.
MOST_FILES = 30_000
# An import statement up to its parenthesis: the name of a module never comes after that.
_IMPORT = re.compile(rb"^[^\n]*\bimport\b[^\n]*(?:(?<=\\)\n[^\n]*)*", re.MULTILINE)
_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """What a check reads and reports on.

    `files` are all files of the projects; their paths are relative to `base` if they lie below it. `report_paths` are
    those to report on, None for all. `settings` hold for all files. `home` is the folder of the cache. `projects` are
    the roots of the projects. `read` are these too, or, if the working directory is no project, the files and folders
    in it that are read. `cut` are the projects with more than MOST_FILES files: of these, only the files that the user
    named are read.
    """

    base: Path
    home: Path
    files: tuple[SourceFile, ...]
    report_paths: frozenset[str] | None
    settings: Settings
    projects: tuple[Path, ...]
    read: tuple[Path, ...]
    cut: tuple[Path, ...] = ()

    @property
    def reported(self) -> tuple[SourceFile, ...]:
        """The files to report on."""
        return (
            self.files
            if self.report_paths is None
            else tuple(file for file in self.files if file.shown in self.report_paths)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProjectFolder:
    """The folder `root`, read with all below it; of the folder `outskirts` only the files directly in it are read.

    `base` is where absolute imports begin. `is_marked` says whether `root` contains a project marker.
    """

    root: Path
    base: Path
    is_marked: bool
    outskirts: Path | None = None


def find_workspace(paths: Sequence[Path], settings: Settings, *, cwd: Path, text: bytes | None = None) -> Workspace:
    """Return the workspace of `paths`: each belongs to a project, which is read from its root.

    `text` replaces the content of the only path, which need not exist. Raises DoctorError for a path that does not
    exist.
    """
    projects = [find_project(path, cwd) for path in paths]
    base = _common(project.base for project in projects)
    settings = _at_root(settings, projects)
    if text is None:
        wanted = list(find_files(paths, settings, cwd=cwd, base=base))
    else:
        (absolute,) = (Path(os.path.abspath(cwd / path)) for path in paths)  # noqa: PTH100
        kind, name = kind_of(absolute.name) or FileKind.PYTHON, absolute.as_posix()
        wanted = [SourceFile(name, shown_path(name, base), kind, text)]
    files = {file.name: file for file in wanted}
    cut, read = [], list[Path]()
    for project in dict.fromkeys(projects):
        is_whole = project.is_marked or _is_named_by_user(project, paths, cwd)
        around = list(islice(_around(project, settings, base), MOST_FILES + 1))
        if len(around) > MOST_FILES and not _is_named_by_user(project, paths, cwd):
            cut.append(project.root)
            continue
        if is_whole or project.base != project.root:
            read.append(project.root)
        else:
            its = [os.path.abspath(cwd / path) for path, own in zip(paths, projects, strict=True) if own == project]  # noqa: PTH100
            below = {file.name: file for file in (*wanted, *around) if Path(file.name).is_relative_to(project.root)}
            around, entries = related_files(project.root.as_posix(), tuple(below.values()), its)
            read += map(Path, entries)
        files.update((file.name, file) for file in around if file.name not in files)
    marked = next((project.root for project in projects if project.is_marked), None)
    return Workspace(
        base=base,
        home=marked if marked is not None and len(set(projects)) == 1 else cwd,
        files=tuple(files.values()),
        report_paths=None if len(files) == len(wanted) else frozenset(file.shown for file in wanted),
        settings=settings,
        projects=tuple(dict.fromkeys(project.root for project in projects)),
        read=tuple(read),
        cut=tuple(cut),
    )


def find_project(path: Path, cwd: Path) -> _ProjectFolder:
    """Return the project of the file or folder at `path`."""
    absolute = Path(os.path.abspath(cwd / path))  # noqa: PTH100, a link keeps the folder that it stands in
    folder = absolute if os.path.isdir(absolute) else absolute.parent  # noqa: PTH112, where a long path is False
    is_foreign = any(at.name in EXCLUDED for at in (folder, *folder.parents) if at != cwd and at.is_relative_to(cwd))
    marked = _marked(folder)
    if marked is not None:
        return _ProjectFolder(root=marked, base=importable(marked)[1], is_marked=True)
    if folder.is_relative_to(cwd) and not is_foreign:
        root, base = importable(cwd)
        return _ProjectFolder(root=root, base=base, is_marked=False)
    root, base = importable(folder)
    return _ProjectFolder(root=root, base=root.parent, is_marked=False, outskirts=root.parent)


def _marked(folder: Path) -> Path | None:
    """Return the nearest folder at or above `folder` with a project marker.

    A home folder is never a project, though some keep theirs in git. Files in `.venv` or `build` belong to no project.
    """
    for at in (folder, *folder.parents):
        if at == Path.home() and at != folder:
            return None
        if _is_marked(at):
            return at
        if at.name in EXCLUDED:
            return None
    return None


def _is_marked(folder: Path) -> bool:
    return any(os.path.lexists(folder / marker) for marker in _MARKERS)


def importable(folder: Path) -> tuple[Path, Path]:
    """Return the outermost package around `folder`, and the folder it is imported from.

    A package may have folders without `__init__.py` in between (PEP 420). `folder` twice outside a package.
    """
    root = None
    for at in (folder, *folder.parents):
        if (at / _PACKAGE).is_file():
            root = at
        elif not at.name.isidentifier() or _is_marked(at):
            break
    return (root, root.parent) if root is not None else (folder, folder)


def _around(project: _ProjectFolder, settings: Settings, base: Path) -> Iterator[SourceFile]:
    if project.root.is_dir():
        yield from find_files([project.root], settings, cwd=base, base=base)
    if project.outskirts is not None:
        yield from find_files([project.outskirts], settings, cwd=base, base=base, is_deep=False)


def _is_named_by_user(project: _ProjectFolder, paths: Iterable[Path], cwd: Path) -> bool:
    """Return whether the user named the whole project."""
    return any(project.root.is_relative_to(os.path.abspath(cwd / path)) for path in paths)  # noqa: PTH100


def _common(folders: Iterable[Path]) -> Path:
    return Path(os.path.commonpath(list(folders)))


def _at_root(settings: Settings, projects: Sequence[_ProjectFolder]) -> Settings:
    """Return `settings` with patterns rooted at the first of `projects`, unless a settings file defines them.

    Also sets the Triton version that the project pins.
    """
    top = projects[0].root
    settings = replace(settings, pinned_triton=find_pinned_triton(top), required=find_required(top))
    return replace(settings, root=top) if settings.root != top and settings.root.is_relative_to(top) else settings


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

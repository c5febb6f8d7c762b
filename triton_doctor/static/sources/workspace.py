"""Paths to a workspace: the files of the projects that they belong to, and which of these to report on."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.static.sources.files import EXCLUDED, FileKind, SourceFile, find_files, kind_of, shown_path
from triton_doctor.static.sources.pinned_triton import find_pinned_triton
from triton_doctor.static.sources.related_folders import related_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.settings import Settings

# The nearest folder that contains one of these is the root of a project.
_MARKERS = ("pyproject.toml", "setup.cfg", ".git")
_PACKAGE = "__init__.py"
# A folder with more files is not a project but a home folder or a disk. Triton's largest users have 6,000.
MOST_FILES = 30_000


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
        return _ProjectFolder(root=marked, base=_importable(marked)[1], is_marked=True)
    if folder.is_relative_to(cwd) and not is_foreign:
        root, base = _importable(cwd)
        return _ProjectFolder(root=root, base=base, is_marked=False)
    root, base = _importable(folder)
    return _ProjectFolder(root=root, base=root.parent, is_marked=False, outskirts=root.parent)


def _marked(folder: Path) -> Path | None:
    """Return the nearest folder at or above `folder` with a project marker.

    A home folder is never a project, though some keep theirs in git. Files in `.venv` or `build` belong to no project.
    """
    for at in (folder, *folder.parents):
        if at == Path.home() and at != folder:
            return None
        if any(os.path.lexists(at / marker) for marker in _MARKERS):
            return at
        if at.name in EXCLUDED:
            return None
    return None


def _importable(folder: Path) -> tuple[Path, Path]:
    """Return the outermost package around `folder`, and the folder it is imported from.

    `folder` twice outside a package.
    """
    root = folder
    while (root.parent / _PACKAGE).is_file() and root.parent != root:
        root = root.parent
    return (root, root.parent) if (root / _PACKAGE).is_file() else (folder, folder)


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
    settings = replace(settings, pinned_triton=find_pinned_triton(top))
    return replace(settings, root=top) if settings.root != top and settings.root.is_relative_to(top) else settings

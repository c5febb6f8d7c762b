"""A library to projects: the whole of a scan, or the part of it that one file's findings are about."""

from __future__ import annotations

import fnmatch
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from triton_doctor.settings import DEMONSTRATIONS
from triton_doctor.static.project.analysis.summaries import FileSummaries, summarize_files
from triton_doctor.static.project.calls.trials import PROGRAM_KERNELS
from triton_doctor.static.project.database.dependencies import NO_CHANGES
from triton_doctor.static.project.database.kernel_mentions import find_mentions
from triton_doctor.static.project.database.tracked_modules import TrackedModules
from triton_doctor.static.project.names.resolver import Resolver
from triton_doctor.static.project.project import Project
from triton_doctor.static.sources.ignore_rules import PathPatterns

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator
    from pathlib import Path

    from triton_doctor.settings import Settings
    from triton_doctor.static.project.cache.scan_cache import ScanResult
    from triton_doctor.static.project.database.database import Database
    from triton_doctor.static.project.database.dependencies import Changes
    from triton_doctor.static.project.project import LinkedLaunch


class ProgramKernels:
    """Whether some kernel of `library` stands in a file that is no test, no demonstration, and no trial of its kernels.

    The files are read by path, up to the first of that kind.
    """

    def __init__(self, library: Database, tests: Container[str], demonstrations: Container[str]) -> None:
        """No file is read yet."""
        self._library = library
        self._left_out = (tests, demonstrations)

    def __bool__(self) -> bool:
        return self._are_there

    @cached_property
    def _are_there(self) -> bool:
        library = self._library
        for path in library.subjects():
            if library.is_code(path) and not any(path in one for one in self._left_out):
                has_kernels: bool | None = library.answer(path, PROGRAM_KERNELS, "")
                if has_kernels:
                    return True
        return False


def empty_project(library: Database, settings: Settings, cwd: Path) -> Project:
    """A project of no files yet, as `settings` see it."""
    modules = TrackedModules(library)
    is_default = settings.demonstrations == DEMONSTRATIONS
    tests = PathPatterns(settings.root, settings.tests, cwd)
    demonstrations = PathPatterns(settings.root, settings.demonstrations, cwd, names_root=is_default)
    return Project(
        scope=(),
        modules=modules,
        names=Resolver(modules),
        tests=tests,
        demonstrations=demonstrations,
        recognizes_trials=is_default,
        has_programs=ProgramKernels(library, tests, demonstrations),
        declared={**dict.fromkeys(settings.fixed, "fixed"), **dict.fromkeys(settings.per_call, "per_call")},
        triton_version=settings.triton_version,
        pinned_triton=settings.pinned_triton,
    )


def whole_project(
    library: Database, settings: Settings, cwd: Path, on_progress: Callable[[int], None] = lambda done: None
) -> Project:
    """All kernels and launches of `library` as one project, as `settings` see it."""
    return with_all_launches(
        empty_project(library, settings, cwd), summarize_files(library, {}, NO_CHANGES, on_progress)
    )


def parts_about(
    project: Project,
    library: Database,
    pattern: str,
    before: ScanResult,
    changes: Changes,
    on_progress: Callable[[int], None] = lambda done: None,
) -> Iterator[Project]:
    """The part of `project`, which has no files yet, about each file with a kernel whose name matches `pattern`.

    What stands of the results `before` is not worked out again; without it, only files that may launch the kernel are
    read, if `pattern` is its name.
    """
    shares = FileSummaries(library, before.shares, changes)
    is_cold = not before.shares
    paths = find_mentions(library, pattern) if is_cold and pattern.isidentifier() else library.subjects()
    for done, path in enumerate(paths, start=1):
        shares.add(path)
        on_progress(done)
    shares.add_launchers()
    launchers = shares.launchers()
    for home, share in sorted(shares.by_path.items()):
        if fnmatch.filter(share.kernels, pattern):
            starting = [
                one
                for launcher in launchers.get(home, ())
                for one in shares.launches(launcher)
                if any(kernel.path == home for kernel in one.kernels)
            ]
            yield project_part(replace(project, set_anywhere=shares.variables), library, home, starting)


def with_all_launches(project: Project, shares: FileSummaries) -> Project:
    """`project` with all the kernels and launches of `shares`."""
    return replace(
        project,
        scope=tuple(path for path, share in shares.by_path.items() if share.kernels),
        launches=tuple(one for path in shares.by_path for one in shares.launches(path) if one.kernels),
        set_anywhere=shares.variables,
    )


def project_part(project: Project, library: Database, path: str, launches: Iterable[LinkedLaunch]) -> Project:
    """The part of `project` that is about the file at `path`, whose kernels `launches` start; it asks anew."""
    modules = TrackedModules(library)
    environment = library.environment(path)
    if environment is not None:
        environment = replace(environment, for_tests=environment.for_tests or path in project.tests)
    return replace(
        project,
        scope=(path,) if library.is_code(path) else (),
        modules=modules,
        names=Resolver(modules),
        launches=tuple(launches),
        environment=(environment,) if environment is not None and environment.settings else (),
    )

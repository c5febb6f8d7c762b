"""Builds projects from a database: the whole of a scan, or the part that one file's findings are about."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from triton_doctor.kernel_names import matches
from triton_doctor.settings import DEMONSTRATING, DEMONSTRATIONS
from triton_doctor.static.project.analysis.summaries import FileSummaries, summarize_files
from triton_doctor.static.project.calls.trials import PROGRAM_KERNELS
from triton_doctor.static.project.database.dependencies import NO_CHANGES
from triton_doctor.static.project.database.kernel_mentions import find_mentions
from triton_doctor.static.project.database.tracked_modules import TrackedModules
from triton_doctor.static.project.names.resolver import Resolver
from triton_doctor.static.project.project import Project
from triton_doctor.static.sources.files import shown_path
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
    """Whether a kernel of `database` is in a file that is no test, no demonstration and no trial of its kernels.

    The files are read by path, up to the first such file.
    """

    def __init__(self, database: Database, tests: Container[str], demonstrations: Container[str]) -> None:
        """Start without reading any file."""
        self._database = database
        self._left_out = (tests, demonstrations)

    def __bool__(self) -> bool:
        return self._are_there

    @cached_property
    def _are_there(self) -> bool:
        database = self._database
        for path in database.subjects():
            if database.is_code(path) and not any(path in left_out for left_out in self._left_out):
                has_kernels: bool | None = database.query(path, PROGRAM_KERNELS, "")
                if has_kernels:
                    return True
        return False


def empty_project(database: Database, settings: Settings, cwd: Path) -> Project:
    """Return a project without files, configured by `settings`."""
    modules = TrackedModules(database)
    is_default = settings.demonstrations == DEMONSTRATIONS
    tests = PathPatterns(settings.root, settings.tests, cwd)
    named = DEMONSTRATING if is_default else ()
    demonstrations = PathPatterns(settings.root, settings.demonstrations, cwd, root_patterns=named)
    return Project(
        scope=(),
        modules=modules,
        names=Resolver(modules),
        tests=tests,
        demonstrations=demonstrations,
        recognizes_trials=is_default,
        has_programs=ProgramKernels(database, tests, demonstrations),
        declared={**dict.fromkeys(settings.fixed, "fixed"), **dict.fromkeys(settings.per_call, "per_call")},
        triton_version=settings.triton_version,
        pinned_triton=settings.pinned_triton,
        required=settings.required._replace(
            packages=tuple((shown_path(path, cwd), package) for path, package in settings.required.packages)
        ),
    )


def whole_project(
    database: Database, settings: Settings, cwd: Path, on_progress: Callable[[int], None] = lambda done: None
) -> Project:
    """Return one project with all kernels and launches of `database`, configured by `settings`."""
    return with_all_launches(
        empty_project(database, settings, cwd), summarize_files(database, {}, NO_CHANGES, on_progress)
    )


def parts_about(
    project: Project,
    database: Database,
    pattern: str,
    before: ScanResult,
    changes: Changes,
    on_progress: Callable[[int], None] = lambda done: None,
) -> Iterator[Project]:
    """Yield the part of `project` about each file with a kernel whose name matches `pattern`.

    `project` has no files yet. Valid results in `before` are reused. Without any, and if `pattern` is a plain name,
    only files that may launch that kernel are read.
    """
    summaries = FileSummaries(database, before.summaries, changes)
    is_cold = not before.summaries
    paths = find_mentions(database, pattern) if is_cold and pattern.isidentifier() else database.subjects()
    for done, path in enumerate(paths, start=1):
        summaries.add(path)
        on_progress(done)
    summaries.add_launchers()
    launchers = summaries.launchers()
    for home, summary in sorted(summaries.by_path.items()):
        if any(matches(kernel, pattern) for kernel in summary.kernels):
            starting = [
                launch
                for launcher in launchers.get(home, ())
                for launch in summaries.launches(launcher)
                if any(kernel.path == home for kernel in launch.kernels)
            ]
            yield project_part(replace(project, set_anywhere=summaries.variables), database, home, starting)


def with_all_launches(project: Project, summaries: FileSummaries) -> Project:
    """Return `project` with all kernels and launches of `summaries`."""
    return replace(
        project,
        scope=tuple(path for path, summary in summaries.by_path.items() if summary.kernels),
        launches=tuple(launch for path in summaries.by_path for launch in summaries.launches(path) if launch.kernels),
        set_anywhere=summaries.variables,
    )


def project_part(project: Project, database: Database, path: str, launches: Iterable[LinkedLaunch]) -> Project:
    """Return the part of `project` about the file at `path`, whose kernels `launches` start.

    It tracks its own dependencies.
    """
    modules = TrackedModules(database)
    environment = database.environment(path)
    if environment is not None:
        environment = replace(environment, for_tests=environment.for_tests or path in project.tests)
    return replace(
        project,
        scope=(path,) if database.is_code(path) else (),
        modules=modules,
        names=Resolver(modules),
        launches=tuple(launches),
        environment=(environment,)
        if environment is not None and (environment.settings or environment.missing_compiler)
        else (),
    )

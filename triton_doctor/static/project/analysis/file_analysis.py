"""One file to its findings, over the part of the project that is about that file."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.nesting import with_own_stack
from triton_doctor.static.project.analysis.parts import project_part
from triton_doctor.static.project.cache.results import needed_paths
from triton_doctor.static.project.cache.scan_cache import FileResult
from triton_doctor.static.project.database.tracked_modules import TrackedModules
from triton_doctor.static.python.unreadable import explain_unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from triton_doctor.finding import Finding, Undecided
    from triton_doctor.static.project.analysis.summaries import FileSummaries
    from triton_doctor.static.project.cache.scan_cache import ScanResult
    from triton_doctor.static.project.database.database import Database
    from triton_doctor.static.project.database.dependencies import Changes, Dependencies
    from triton_doctor.static.project.project import Project, SupportsBool


class Analysis(NamedTuple):
    """The inputs of an analysis.

    `find` runs the rules on a part of the project and gives findings and undecided constexprs.

    Results in `before` are reused where `changes` do not affect them. `project` has no files yet. `report_paths` are
    the files to report on, None for all.
    """

    project: Project
    database: Database
    find: Callable[[Project, str], tuple[tuple[Finding, ...], tuple[Undecided, ...]]]
    before: ScanResult
    changes: Changes
    report_paths: frozenset[str] | None = None


class TrackedVariables(Container[str]):
    """The variables that some file sets. Records each lookup and its result."""

    def __init__(self, there: Container[str]) -> None:
        """`there` are the variables that some file sets."""
        self._there = there
        self.lookups: set[tuple[str, bool]] = set()

    def __contains__(self, variable: object) -> bool:
        found = variable in self._there
        self.lookups.add((str(variable), found))
        return found


class TrackedFlag:
    """A fact about the project that records its own lookup. `result` is None until it is looked up."""

    def __init__(self, fact: SupportsBool) -> None:
        """`fact` is the fact itself."""
        self._fact = fact
        self.result: bool | None = None

    def __bool__(self) -> bool:
        self.result = bool(self._fact)
        return self.result


def analyze_files(analysis: Analysis, summaries: FileSummaries, paths: Iterable[str]) -> dict[str, FileResult]:
    """Return the results of those of `paths` that a report needs; valid earlier results are reused."""
    launchers = summaries.launchers()
    needed = needed_paths(summaries.by_path, analysis.report_paths)
    file_results = {}
    for path in paths:
        from_where = launchers.get(path, ())
        kept = analysis.before.file_results.get(path)
        if kept is None or not _is_current(kept, path, from_where, summaries, analysis):
            if path not in needed:
                continue
            kept = _analyze_file(analysis, summaries, path, from_where)
        file_results[path] = kept
    return file_results


def _is_current(
    kept: FileResult, path: str, launchers: tuple[str, ...], summaries: FileSummaries, analysis: Analysis
) -> bool:
    changes = analysis.changes
    return (
        path not in changes.paths
        and kept.launchers == launchers
        and all((variable in summaries.variables) == there for variable, there in kept.variables)
        and all(summaries.starts_are_unchanged(launcher, path) for launcher in launchers)
        and kept.dependencies.hold_after(changes)
        and (kept.has_programs is None or kept.has_programs == bool(analysis.project.has_programs))
    )


def _analyze_file(analysis: Analysis, summaries: FileSummaries, path: str, launchers: tuple[str, ...]) -> FileResult:
    starting = [
        launch
        for launcher in launchers
        for launch in summaries.launches(launcher)
        if any(kernel.path == path for kernel in launch.kernels)
    ]
    variables = TrackedVariables(summaries.variables)
    has_programs = TrackedFlag(analysis.project.has_programs)
    project = replace(analysis.project, set_anywhere=variables, has_programs=has_programs)

    def find() -> tuple[tuple[Finding, ...], tuple[Undecided, ...], Dependencies]:
        own = project_part(project, analysis.database, path, starting)
        return *analysis.find(own, path), own.modules.dependencies()

    try:
        found, undecided, dependencies = with_own_stack(find)
        unreadable = tuple(analysis.database.unreadable_among({path, *dependencies.read_paths}))
    except RecursionError as error:
        modules = TrackedModules(analysis.database)
        modules.source(path)
        found, undecided, dependencies, unreadable = (), (), modules.dependencies(), (explain_unreadable(path, error),)
    return FileResult(
        found, undecided, unreadable, launchers, frozenset(variables.lookups), has_programs.result, dependencies
    )

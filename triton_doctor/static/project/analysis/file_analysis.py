"""Each file to what is found in it, over the part of the project that is about that file."""

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
    """What is to be found: by `find`, in `library`, where what is in `before` may stand after `changes`.

    `find` gives the findings of the part of a project about a path, and the constexprs that stay undecided there.
    `project` has no files yet. `asked` are the files to report on, None for all.
    """

    project: Project
    library: Database
    find: Callable[[Project, str], tuple[tuple[Finding, ...], tuple[Undecided, ...]]]
    before: ScanResult
    changes: Changes
    asked: frozenset[str] | None = None


class TrackedVariables(Container[str]):
    """Which variables some file sets; it notes which it was asked of, and what it said."""

    def __init__(self, there: Container[str]) -> None:
        """Nothing is asked yet."""
        self._there = there
        self.asked: set[tuple[str, bool]] = set()

    def __contains__(self, variable: object) -> bool:
        found = variable in self._there
        self.asked.add((str(variable), found))
        return found


class TrackedFlag:
    """A fact about the project that notes what it said; `said` is None until it is asked for."""

    def __init__(self, fact: SupportsBool) -> None:
        """Nothing is asked yet."""
        self._fact = fact
        self.said: bool | None = None

    def __bool__(self) -> bool:
        self.said = bool(self._fact)
        return self.said


def analyze_files(inquiry: Analysis, shares: FileSummaries, paths: Iterable[str]) -> dict[str, FileResult]:
    """The answers about those of the files at `paths` that a report needs; what still stands is taken over."""
    launchers = shares.launchers()
    needed = needed_paths(shares.by_path, inquiry.asked)
    answers = {}
    for path in paths:
        from_where = launchers.get(path, ())
        kept = inquiry.before.answers.get(path)
        if kept is None or not _stands(kept, path, from_where, shares, inquiry):
            if path not in needed:
                continue
            kept = _analyze_file(inquiry, shares, path, from_where)
        answers[path] = kept
    return answers


def _stands(kept: FileResult, path: str, launchers: tuple[str, ...], shares: FileSummaries, inquiry: Analysis) -> bool:
    changes = inquiry.changes
    return (
        path not in changes.paths
        and kept.launchers == launchers
        and all((variable in shares.variables) == there for variable, there in kept.variables)
        and all(shares.start_as_before(launcher, path) for launcher in launchers)
        and kept.dependencies.stands(changes)
        and (kept.has_programs is None or kept.has_programs == bool(inquiry.project.has_programs))
    )


def _analyze_file(inquiry: Analysis, shares: FileSummaries, path: str, launchers: tuple[str, ...]) -> FileResult:
    starting = [
        one
        for launcher in launchers
        for one in shares.launches(launcher)
        if any(kernel.path == path for kernel in one.kernels)
    ]
    variables = TrackedVariables(shares.variables)
    has_programs = TrackedFlag(inquiry.project.has_programs)
    project = replace(inquiry.project, set_anywhere=variables, has_programs=has_programs)

    def find() -> tuple[tuple[Finding, ...], tuple[Undecided, ...], Dependencies]:
        own = project_part(project, inquiry.library, path, starting)
        return *inquiry.find(own, path), own.modules.dependencies()

    try:
        found, undecided, dependencies = with_own_stack(find)
        unreadable = tuple(inquiry.library.unreadable_among({path, *dependencies.files}))
    except RecursionError as error:
        modules = TrackedModules(inquiry.library)
        modules.source(path)
        found, undecided, dependencies, unreadable = (), (), modules.dependencies(), (explain_unreadable(path, error),)
    return FileResult(
        found, undecided, unreadable, launchers, frozenset(variables.asked), has_programs.said, dependencies
    )

"""Runs the rules over a database and combines the results; results of the last scan that are still valid are reused."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias

from triton_doctor.selection import is_selected
from triton_doctor.static.project.analysis.file_analysis import Analysis
from triton_doctor.static.project.analysis.parts import empty_project, with_all_launches
from triton_doctor.static.project.analysis.workers import run_analysis
from triton_doctor.static.project.cache.results import combine_results
from triton_doctor.static.project.cache.scan_cache import ScanResult

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from triton_doctor.finding import Finding, Undecided
    from triton_doctor.settings import Settings
    from triton_doctor.static.project.cache.results import Result
    from triton_doctor.static.project.database.database import Database
    from triton_doctor.static.project.database.dependencies import Changes
    from triton_doctor.static.project.project import Project

Judge: TypeAlias = "Callable[[Project, Sequence[Finding]], Sequence[Finding]]"


class Find(Protocol):
    """Runs rules on a part of a project."""

    def __call__(
        self, project: Project, path: str, *, codes: frozenset[str]
    ) -> tuple[tuple[Finding, ...], tuple[Undecided, ...]]:
        """Return the findings of the rules `codes` in `project`, the part about `path`, and its
        undecided constexprs.
        """
        ...


def analyze(
    database: Database,
    settings: Settings,
    cwd: Path,
    before: ScanResult,
    changes: Changes,
    *,
    rules: Collection[str],
    find: Find,
    report_paths: frozenset[str] | None,
    on_progress: Callable[[int], None],
    weigh: Judge | None,
) -> tuple[ScanResult, Result]:
    """Return the result of the scan, and what to report of it after `weigh` has processed the findings.

    `rules` are the codes of all checks; `find` runs the selected ones on a part of the project.
    """
    codes = frozenset(code for code in rules if is_selected(code, select=settings.select, ignore=settings.ignore))
    project = empty_project(database, settings, cwd)
    analysis = Analysis(project, database, partial(find, codes=codes), before, changes, report_paths)
    summaries, file_results = run_analysis(analysis, on_progress, alone=weigh is not None)
    scan_result = ScanResult(frozenset(rules), summaries.by_path, file_results)
    result = combine_results(scan_result.results(), report_paths)
    assert result is not None, "every file that a report needs was checked"
    if weigh is not None:
        weighed = weigh(with_all_launches(project, summaries), result.found)
        chosen = (one for one in weighed if is_selected(one.code, select=settings.select, ignore=settings.ignore))
        result = result._replace(found=tuple(chosen))
    return scan_result, result

"""A library to the outcome of a scan; what still stands of the results before is taken over."""

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
    """How rules are looked for."""

    def __call__(
        self, project: Project, path: str, *, codes: frozenset[str]
    ) -> tuple[tuple[Finding, ...], tuple[Undecided, ...]]:
        """Find what the rules of `codes` say of `project`, the part about `path`, and what stays undecided there."""
        ...


def analyze(
    library: Database,
    settings: Settings,
    cwd: Path,
    before: ScanResult,
    changes: Changes,
    *,
    rules: Collection[str],
    find: Find,
    asked: frozenset[str] | None,
    on_progress: Callable[[int], None],
    weigh: Judge | None,
) -> tuple[ScanResult, Result]:
    """What the scan comes to, and what it finds once `weigh` has looked at it.

    `rules` are the codes of all checks; `find` gives the findings of those selected in the part of a project.
    """
    codes = frozenset(code for code in rules if is_selected(code, select=settings.select, ignore=settings.ignore))
    project = empty_project(library, settings, cwd)
    inquiry = Analysis(project, library, partial(find, codes=codes), before, changes, asked)
    shares, answers = run_analysis(inquiry, on_progress, alone=weigh is not None)
    outcome = ScanResult(frozenset(rules), shares.by_path, answers)
    result = combine_results(outcome.results(), asked)
    assert result is not None, "every file that a report needs was checked"
    if weigh is not None:
        weighed = weigh(with_all_launches(project, shares), result.found)
        chosen = (one for one in weighed if is_selected(one.code, select=settings.select, ignore=settings.ignore))
        result = result._replace(found=tuple(chosen))
    return outcome, result

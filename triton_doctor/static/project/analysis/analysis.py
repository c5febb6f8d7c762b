"""Runs the rules over a database and combines the results; results of the last scan that are still valid are reused."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from triton_doctor.static.project.analysis.parts import with_all_launches
from triton_doctor.static.project.analysis.workers import run_analysis
from triton_doctor.static.project.cache.results import combine_results
from triton_doctor.static.project.cache.scan_cache import ScanResult

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from triton_doctor.finding import Finding
    from triton_doctor.static.project.analysis.file_analysis import Analysis
    from triton_doctor.static.project.cache.results import Result
    from triton_doctor.static.project.project import Project

Judge: TypeAlias = "Callable[[Project, Sequence[Finding]], Sequence[Finding]]"


def analyze(
    analysis: Analysis, rules: Collection[str], on_progress: Callable[[int], None], weigh: Judge | None
) -> tuple[ScanResult, Result]:
    """Return the result of the scan, and what to report of it after `weigh` has processed the findings.

    `rules` are the codes of all checks.
    """
    summaries, file_results = run_analysis(analysis, on_progress, alone=weigh is not None)
    scan_result = ScanResult(frozenset(rules), summaries.by_path, file_results)
    result = combine_results(scan_result.results(), analysis.report_paths)
    assert result is not None, "every file that a report needs was checked"
    if weigh is not None:
        weighed = weigh(with_all_launches(analysis.project, summaries), result.found)
        result = result._replace(found=tuple(weighed))
    return scan_result, result

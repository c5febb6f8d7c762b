"""The results of a scan, file by file, to the report on the files that the user named."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from triton_doctor.finding import Finding, Undecided


class FileFindings(NamedTuple):
    """The findings of one file, the TRD900 of files that could not be read for it, and all files read for it.

    `undecided` are constexprs of its kernels.
    """

    found: tuple[Finding, ...]
    undecided: tuple[Undecided, ...]
    unreadable: tuple[Finding, ...]
    read: frozenset[str]


class FileReport(NamedTuple):
    """The result of one file: counts, and `homes`, the files of the kernels that it launches.

    `unreadable` are the TRD900 of files that its launches refer to. `findings` is None if no report needed it.
    """

    kernels: int
    launches: int
    launches_resolved: int
    homes: frozenset[str]
    unreadable: tuple[Finding, ...]
    findings: FileFindings | None


class Result(NamedTuple):
    """The report on some files before suppression, and the counts of the summary.

    `unreadable` has one TRD900 for each file that could not be read completely.
    """

    found: tuple[Finding, ...]
    undecided: tuple[Undecided, ...]
    unreadable: tuple[Finding, ...]
    files_read: int
    kernels: int
    launches: int
    launches_resolved: int


class LaunchingFile(Protocol):
    """A file that may launch kernels."""

    @property
    def homes(self) -> frozenset[str]:
        """The files of these kernels."""
        ...


def needed_paths(files: Mapping[str, LaunchingFile], report_paths: frozenset[str] | None) -> frozenset[str]:
    """Return the files whose findings may concern `report_paths`: these, and the files of the kernels they launch.

    `report_paths` is None for all files.
    """
    if report_paths is None:
        return frozenset(files)
    own = report_paths & files.keys()
    return own.union(*(files[path].homes for path in own))


def combine_results(files: Mapping[str, FileReport], report_paths: frozenset[str] | None) -> Result | None:
    """Return the report on the files `report_paths`, None for all; None if some file was not checked for it."""
    readings = {path: files[path].findings if path in files else None for path in needed_paths(files, report_paths)}
    checked = {path: findings for path, findings in readings.items() if findings is not None}
    if len(checked) < len(readings):
        return None
    own = [file for path, file in files.items() if report_paths is None or path in report_paths]
    own_read = (
        findings.read | {path} for path, findings in checked.items() if report_paths is None or path in report_paths
    )
    unreadable = [
        *(file.unreadable for file in files.values()),
        *(findings.unreadable for findings in checked.values()),
    ]
    return Result(
        found=tuple(finding for path in sorted(checked) for finding in checked[path].found),
        undecided=tuple(
            constexpr
            for path in sorted(checked)
            if report_paths is None or path in report_paths
            for constexpr in checked[path].undecided
        ),
        unreadable=_first_of_each_file(finding for findings in unreadable for finding in findings),
        files_read=len(frozenset[str]().union(*own_read)),
        kernels=sum(report.kernels for report in own),
        launches=sum(report.launches for report in own),
        launches_resolved=sum(report.launches_resolved for report in own),
    )


def _first_of_each_file(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(
        {
            finding.path: finding for finding in sorted(findings, key=lambda finding: finding.order, reverse=True)
        }.values()
    )

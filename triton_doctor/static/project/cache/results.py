"""What a scan found, file by file, to what is reported of the files that were asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from triton_doctor.finding import Finding, Undecided


class FileFindings(NamedTuple):
    """What the checks `found` in one file, the TRD900 of the files that they could not read, and all that they read.

    `undecided` are constexprs of its kernels.
    """

    found: tuple[Finding, ...]
    undecided: tuple[Undecided, ...]
    unreadable: tuple[Finding, ...]
    read: frozenset[str]


class FileReport(NamedTuple):
    """What a scan found in one file: numbers, and the `homes` of the kernels that it launches, files by path.

    `unreadable` are the TRD900 of the files that its launches lead to. `reading` is None where no report needed it.
    """

    kernels: int
    launches: int
    launches_resolved: int
    homes: frozenset[str]
    unreadable: tuple[Finding, ...]
    reading: FileFindings | None


class Result(NamedTuple):
    """What is reported of some files, before anything is silenced, and the numbers of the summary.

    `unreadable` has one TRD900 for each file that could not be read, or not all of it.
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


def needed_paths(files: Mapping[str, LaunchingFile], asked: frozenset[str] | None) -> frozenset[str]:
    """Return the files whose findings may be about those `asked`: these, and those whose kernels they launch.

    `asked` is None for all files.
    """
    if asked is None:
        return frozenset(files)
    own = asked & files.keys()
    return own.union(*(files[path].homes for path in own))


def combine_results(files: Mapping[str, FileReport], asked: frozenset[str] | None) -> Result | None:
    """Return what is reported of the files `asked`, None for all; None where some file was not checked for them."""
    readings = {path: files[path].reading if path in files else None for path in needed_paths(files, asked)}
    checked = {path: reading for path, reading in readings.items() if reading is not None}
    if len(checked) < len(readings):
        return None
    own = [one for path, one in files.items() if asked is None or path in asked]
    own_read = (reading.read | {path} for path, reading in checked.items() if asked is None or path in asked)
    unreadable = [*(one.unreadable for one in files.values()), *(reading.unreadable for reading in checked.values())]
    return Result(
        found=tuple(finding for path in sorted(checked) for finding in checked[path].found),
        undecided=tuple(
            one for path in sorted(checked) if asked is None or path in asked for one in checked[path].undecided
        ),
        unreadable=_first_of_each_file(finding for findings in unreadable for finding in findings),
        files_read=len(frozenset[str]().union(*own_read)),
        kernels=sum(one.kernels for one in own),
        launches=sum(one.launches for one in own),
        launches_resolved=sum(one.launches_resolved for one in own),
    )


def _first_of_each_file(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple({one.path: one for one in sorted(findings, key=lambda one: one.order, reverse=True)}.values())

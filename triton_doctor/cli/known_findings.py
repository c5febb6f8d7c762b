"""The baseline of one `check`: what it knows is left out, or written anew; what is gone is told."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.cli.asides import print_detail, print_message
from triton_doctor.errors import DoctorError
from triton_doctor.regular_files import read_regular_file
from triton_doctor.report.concise import plural
from triton_doctor.report.source import split_lines
from triton_doctor.static.suppression.baseline import Entries, compare, read_baseline, write_baseline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from triton_doctor.cli.adoption import Adoption
    from triton_doctor.static.scan import Scan
    from triton_doctor.static.sources.files import SourceFile
    from triton_doctor.static.suppression.baseline import Entry

GONE_SHOWN = 10


class KnownFindings:
    """The baseline of one run: what it knows is left out, or written."""

    def __init__(self, adoption: Adoption, files: Sequence[SourceFile], cwd: Path) -> None:
        """Read the baseline. `files` are those that the run reports on, with paths relative to `cwd`."""
        self._path = adoption.baseline
        self._files = files
        self._cwd = cwd
        if self._path is not None:
            there = os.path.exists(self._path) or not adoption.writes  # noqa: PTH110, one too long is False
            self._before = _bytes_of(self._path)
            self._known = read_baseline(self._path) if there else None

    def leave_out(self, result: Scan, is_on: Callable[[str], bool]) -> Scan:
        """Remove known findings from `result`, and print which entries no longer occur."""
        if self._path is None or self._known is None:
            return result
        entries = self._entries(result)
        compared = compare(result.findings, self._known, entries, self._looked(entries, is_on))
        if len(compared.new) < len(result.findings):
            left_out = len(result.findings) - len(compared.new)
            print_message(f"{plural(left_out, 'known finding')} left out by {self._path}")
        if compared.gone:
            count = len(compared.gone)
            print_message(
                f"{plural(count, 'entry', 'entries')} of {self._path} no longer found; --write-baseline drops them"
            )
            for entry in compared.gone[:GONE_SHOWN]:
                print_detail(describe_entry(entry))
            if count > GONE_SHOWN:
                print_detail(f"and {count - GONE_SHOWN:,} more")
        return replace(result, findings=compared.new)

    def new_of(self, result: Scan, is_on: Callable[[str], bool]) -> Scan:
        """Remove known findings from `result` like `leave_out`, without output."""
        if self._path is None or self._known is None:
            return result
        entries = self._entries(result)
        return replace(
            result, findings=compare(result.findings, self._known, entries, self._looked(entries, is_on)).new
        )

    def write(self, result: Scan, is_on: Callable[[str], bool]) -> None:
        """Make the findings of `result` the known ones. Of files and rules that were not looked at, the old ones stay.

        Raises DoctorError where a file with findings, or the baseline, was saved since it was read.
        """
        assert self._path is not None
        entries = self._entries(result)
        looked = self._looked(entries, is_on)
        for finding in result.findings:
            if result.source_of(finding.path) is None:
                raise DoctorError(f"{finding.path} changed while it was read", hint="nothing is written; run it again")
        found = [entries.of(finding) for finding in result.findings]
        kept = [] if self._known is None else [entry for entry in self._known.elements() if not looked(entry)]
        if _bytes_of(self._path) != self._before:
            raise DoctorError(f"{self._path} changed meanwhile", hint="nothing is written; run it again")
        write_baseline(self._path, [*found, *kept])
        print_message(f"{plural(len(found), 'finding')} written to {self._path}")

    def _entries(self, result: Scan) -> Entries:
        """Return a converter from findings of `result` to entries, which uses the lines that the scan read."""
        assert self._path is not None
        return Entries(self._path, self._cwd, lambda path: split_lines(result.source_of(path) or b""))

    def _looked(self, entries: Entries, is_on: Callable[[str], bool]) -> Callable[[Entry], bool]:
        """Return a test for whether this run would find an entry: its rule is on; its file was read or is gone."""
        read = {entries.path_of(file.shown) for file in self._files}
        return lambda entry: is_on(entry.code) and (entry.path in read or not entries.exists(entry))


def describe_entry(entry: Entry) -> str:
    """Format an entry: `TRD201 `bs` of `_triton_rope` in ops/rope.py`."""
    what = f" `{entry.parameter}`" if entry.parameter else ""
    of = f" of `{entry.kernel}`" if entry.kernel and what else f" `{entry.kernel}`" if entry.kernel else ""
    return f"{entry.code}{what}{of} in {entry.path}"


def _bytes_of(path: Path) -> bytes | None:
    """Return the content of `path`; None if there is no such file, also if the path is too long."""
    return read_regular_file(path) if os.path.isfile(path) else None  # noqa: PTH113

"""Findings that a project lives with: those of a baseline, in unchanged files, or silenced by comments."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.cli.messages import print_detail, print_message
from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.finding import split_cell
from triton_doctor.phrases import plural
from triton_doctor.regular_files import read_regular_file
from triton_doctor.report.source import split_lines
from triton_doctor.static.fix.write import Edited, write_all
from triton_doctor.static.sources.files import shown_path
from triton_doctor.static.sources.git_changes import HEAD
from triton_doctor.static.suppression.add_ignore import add_ignores
from triton_doctor.static.suppression.baseline import DEFAULT_NAME, Entries, compare, read_baseline, write_baseline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from triton_doctor.finding import Finding
    from triton_doctor.settings import Settings
    from triton_doctor.static.scan import Scan
    from triton_doctor.static.sources.files import SourceFile
    from triton_doctor.static.suppression.baseline import Entry

GONE_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOptions:
    """The options about findings that a project lives with; None where not given.

    `changed` is a revision, `reason` that of the comments to add.
    """

    baseline: Path | None
    writes: bool
    reason: str | None
    changed: str | None
    recordings: tuple[Path, ...]


def read_known_options(
    settings: Settings,
    *,
    baseline: Path | None,
    write_baseline: bool,
    add_ignore: str | None,
    changed: str | None,
    recording: Sequence[Path],
    from_stdin: bool,
) -> KnownOptions:
    """Combine the command line with `settings`. Raises DoctorError if they contradict each other."""
    for wished, name in ((add_ignore is not None, "--add-ignore"), (changed is not None, "--changed")):
        if wished and from_stdin:
            raise DoctorError(f"{name} is about files, and - is stdin", hint="name the file")
        if wished and write_baseline:
            raise DoctorError(
                f"--write-baseline does not go with {name}",
                hint="a baseline must hold all findings: leave the option out",
            )
    if write_baseline and from_stdin:
        raise DoctorError("--write-baseline is about files, and - is stdin", hint="name the file")
    if add_ignore is not None and not add_ignore.isprintable():
        raise DoctorError(
            "the reason of --add-ignore is more than one line", hint='--add-ignore="three lengths in all"'
        )
    file = baseline
    if file is None and settings.baseline is not None:
        file = Path(shown_path((settings.root / settings.baseline).as_posix(), Path.cwd()))
    if file is None and write_baseline:
        file = Path(DEFAULT_NAME)
    if write_baseline and baseline is None and file is not None:
        require_inside(file, settings.root)
    return KnownOptions(
        baseline=file,
        writes=write_baseline,
        reason=add_ignore,
        changed=changed if changed is None else changed or HEAD,
        recordings=tuple(recording),
    )


def require_inside(file: Path, root: Path) -> None:
    """Raise DoctorError where `file`, which the command line does not name, lies outside of the project at `root`.

    Links count for where they lead: a repository can bring them, as it brings the setting.
    """
    real = file.resolve()
    if not any(real.is_relative_to(folder.resolve()) for folder in (root, Path.cwd())):
        raise DoctorError(
            f"the baseline {file} would be written outside of the project, to {real}",
            hint=f"--baseline {file} names it on the command line",
        )


class KnownFindings:
    """The baseline of one run: what it knows is left out, or written."""

    def __init__(self, options: KnownOptions, files: Sequence[SourceFile], cwd: Path) -> None:
        """Read the baseline. `files` are those that the run reports on, with paths relative to `cwd`."""
        self._path = options.baseline
        self._files = files
        self._cwd = cwd
        if self._path is not None:
            there = os.path.exists(self._path) or not options.writes  # noqa: PTH110, one too long is False
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


def only_changed(result: Scan, changed: frozenset[str], cwd: Path) -> Scan:
    """Remove the findings of `result` that are not in the files `changed`."""

    def is_changed(path: str) -> bool:
        return (cwd / split_cell(path)[0]).resolve().as_posix() in changed

    return replace(result, findings=tuple(finding for finding in result.findings if is_changed(finding.path)))


def silence(result: Scan, reason: str, cwd: Path) -> Scan:
    """Add comments to the files, and give `result` with the findings that none can silence."""
    by_path: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in (found.original for found in result.findings):
        by_path[finding.path].append(finding)
    left: list[Finding] = []
    edited: dict[str, Edited] = {}
    changed: list[str] = []
    for shown, findings in by_path.items():
        # About a comment, or about a file that does not parse: another comment does not help.
        own = [finding for finding in findings if shown.endswith(".py") and not finding.code.startswith("TRD9")]
        left += [finding for finding in findings if finding not in own]
        if own:
            source = result.source_of(shown)
            if source is None:
                changed.append(shown)
                continue
            try:
                silenced, still = add_ignores(source, own, reason)
            except UnicodeEncodeError as error:
                letter = error.object[error.start]
                message = f"the encoding of {shown} has no `{letter}`"
                raise DoctorError(message, hint="give a plainer reason") from error
            left += still
            if silenced != source:
                edited[shown] = Edited(cwd / shown, source, silenced)
    changed += write(edited)
    for shown in changed:
        left += by_path[shown]
        print_message(f"{shown} changed while it was read, and is left as it is")
    unique = tuple(sorted(dict.fromkeys(left), key=lambda finding: finding.order))
    silenced_count, files = len(result.findings) - len(unique), len(edited.keys() - changed)
    print_message(f"{plural(silenced_count, 'finding')} silenced in {plural(files, 'file')}")
    return replace(result, findings=unique)


def write(edited: dict[str, Edited]) -> tuple[str, ...]:
    """Write the files; those that were left alone. Raises DoctorError for what cannot be written."""
    try:
        return write_all(edited, [])
    except OSError as error:
        message = f"{error.filename or 'a file'} cannot be written: {reason_of(error)}"
        raise DoctorError(message, hint="the files written before this one keep their edits") from error

"""One open folder to its findings: as `check` has them, with the texts of the editor in place of the files."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from triton_doctor.finding import split_cell
from triton_doctor.report.source import split_lines
from triton_doctor.selection import is_selected
from triton_doctor.settings import load_settings
from triton_doctor.static.project.cache.scan_memory import ReadOnlyMemory, ScanMemory
from triton_doctor.static.project.cache.store import CacheStore
from triton_doctor.static.scan import Scan, scan
from triton_doctor.static.sources.files import SourceFile, kind_of, shown_path
from triton_doctor.static.sources.workspace import Workspace, find_workspace
from triton_doctor.static.suppression.baseline import Entries, compare, read_baseline

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from triton_doctor.finding import Finding
    from triton_doctor.static.suppression.baseline import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderCheck:
    """What a check found, by the absolute path of the file.

    `texts` are those of the editor, by absolute path; `is_whole` is whether all files of the folder were looked at.
    """

    scan: Scan
    workspace: Workspace
    findings: Mapping[str, tuple[Finding, ...]]
    texts: Mapping[str, bytes]
    is_whole: bool

    def absolute(self, path: str) -> str:
        """Return the absolute path of the file that findings spell `path`; for a cell, that of its notebook."""
        return (self.workspace.base / split_cell(path)[0]).as_posix()

    def source_of(self, path: str) -> bytes:
        """Return the text that was checked at `path`, as findings spell it; empty if it has changed since."""
        return self.scan.source_of(path) or b""

    def shown(self, path: str) -> str:
        """Convert the absolute `path` to the spelling of findings."""
        return shown_path(path, self.workspace.base)


class CheckedFolder:
    """A folder, or a single file, that is checked again and again."""

    def __init__(self, root: Path) -> None:
        """Remember the folder; nothing is read yet."""
        self.root = root
        self._workspace: Workspace | None = None
        self._times_forgotten = 0
        self._memory = ScanMemory()

    def forget_files(self) -> None:
        """Look for files and read the settings again: some were made, renamed or removed, or the settings changed.

        It is called on another thread than the checks, also while one looks for files.
        """
        self._times_forgotten += 1
        self._workspace = None

    @property
    def memory(self) -> ScanMemory:
        """Return a read-only view of the results of the last check."""
        return ReadOnlyMemory(self._memory)

    @property
    def is_cold(self) -> bool:
        """Return whether a check of the whole folder has no earlier results to use."""
        self._found()
        return not self._memory.read().results

    def workspace(self, texts: Mapping[str, bytes]) -> Workspace:
        """Return the files of the folder, with `texts`, by absolute path, instead of what is on disk."""
        found = self._found()
        if not texts:
            return found
        left = dict(texts)
        files = [file._replace(text=left.pop(file.name)) if file.name in left else file for file in found.files]
        asked = found.report_paths
        # What was never saved is in no folder yet.
        for name, text in left.items():
            kind = kind_of(name.rpartition("/")[2])
            if kind is not None and name.startswith(f"{self.root.as_posix()}/") and not os.path.lexists(name):
                files.append(SourceFile(name, shown_path(name, found.base), kind, text))
                asked = asked | {files[-1].shown} if asked is not None else None
        return replace(found, files=tuple(files), report_paths=asked)

    def check(self, texts: Mapping[str, bytes], only: Collection[str] | None = None) -> FolderCheck:
        """Check the folder, or of it the files at the absolute paths `only`. Raises DoctorError for wrong settings."""
        workspace = self.workspace(texts)
        asked = workspace.report_paths
        if only is not None:
            asked = frozenset(file.shown for file in workspace.files if file.name in only)
        found = scan(
            workspace.files,
            workspace.settings,
            cwd=workspace.base,
            projects=workspace.projects,
            report_paths=asked,
            cache=self._memory,
        )
        found = _leave_out_known(found, workspace)
        by_path: defaultdict[str, list[Finding]] = defaultdict(list)
        for finding in found.findings:
            by_path[(workspace.base / split_cell(finding.path)[0]).as_posix()].append(finding)
        return FolderCheck(
            scan=found,
            workspace=workspace,
            findings={path: tuple(findings) for path, findings in by_path.items()},
            texts=dict(texts),
            is_whole=only is None,
        )

    def save(self) -> None:
        """Leave what was worked out on disk, for the next session and for `check`."""
        self._memory.save()

    def _found(self) -> Workspace:
        workspace, times_forgotten = self._workspace, self._times_forgotten
        if workspace is None:
            cwd = self.root if self.root.is_dir() else self.root.parent
            workspace = find_workspace([self.root], load_settings(self.root), cwd=cwd)
            store = CacheStore(workspace.home, map(str, (workspace.base, *workspace.projects)), workspace.settings)
            self._memory = self._memory.for_store(store)
            if times_forgotten == self._times_forgotten:
                self._workspace = workspace
        return workspace


def _leave_out_known(found: Scan, workspace: Workspace) -> Scan:
    """Remove the findings that the baseline of the settings lists."""
    named = workspace.settings.baseline
    if named is None:
        return found
    path = workspace.settings.root / named
    if not path.exists():
        return found
    settings = workspace.settings
    entries = Entries(path, workspace.base, lambda shown: split_lines(found.source_of(shown) or b""))
    read = {entries.path_of(file.shown) for file in workspace.reported}

    def looked(entry: Entry) -> bool:
        is_on = is_selected(entry.code, select=settings.select, ignore=settings.ignore)
        return is_on and (entry.path in read or not entries.exists(entry))

    return replace(found, findings=compare(found.findings, read_baseline(path), entries, looked).new)

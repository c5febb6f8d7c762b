"""Files to findings: read, link, check, suppress, sort."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from triton_doctor.rulebook import page_paths
from triton_doctor.selection import is_selected
from triton_doctor.static.checks import CHECKS
from triton_doctor.static.ignore_rules import compile_rules
from triton_doctor.static.library import Library
from triton_doctor.static.modules import NO_CHANGES
from triton_doctor.static.project import empty_project, part, whole
from triton_doctor.static.shares import Shares
from triton_doctor.static.suppress import UNUSED, suppress
from triton_doctor.static.unreadable import CODE as UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from triton_doctor.finding import Finding
    from triton_doctor.settings import Settings
    from triton_doctor.static.files import SourceFile
    from triton_doctor.static.model import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What was looked at. `files_read` of `files_seen` could matter to Triton, and were parsed."""

    files_seen: int
    files_read: int
    kernels: int
    launches: int
    launches_resolved: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What was found, in the order of `Finding.order`, and what was looked at."""

    findings: tuple[Finding, ...]
    summary: Summary


def scan(
    files: Sequence[SourceFile],
    settings: Settings,
    *,
    cwd: Path,
    on_progress: Callable[[int], None] = lambda done: None,
    weigh: Callable[[Project, Sequence[Finding]], Sequence[Finding]] | None = None,
) -> Scan:
    """Check `files`, whose paths are relative to `cwd` where they can be. `on_progress` gets the files done so far.

    `weigh` looks at all that was found before comments and settings silence any of it, and may change or add to it.
    """
    began = time.perf_counter()
    known = frozenset(page_paths()) | frozenset(CHECKS)
    runs = frozenset(
        code
        for code in (*CHECKS, UNREADABLE, UNUSED)
        if is_selected(code, select=settings.select, ignore=settings.ignore)
    )
    library = Library(files)
    shares = Shares(library, {}, NO_CHANGES, on_progress)
    project = empty_project(library, settings, cwd)
    found = list(check_files(project, library, shares, runs))
    if weigh is not None:
        weighed = weigh(whole(project, shares), found)
        found = [one for one in weighed if is_selected(one.code, select=settings.select, ignore=settings.ignore)]
    if UNREADABLE in runs:
        found += library.unreadable.values()
    kept = suppress(found, library.directives(), ran=runs, known=known)
    findings = sorted(ignore_per_file(kept, settings, cwd), key=lambda finding: finding.order)
    starts = [starts for share in shares.by_path.values() for starts in share.starts]
    return Scan(
        findings=tuple(findings),
        summary=Summary(
            files_seen=len(files),
            files_read=library.files_read,
            kernels=sum(len(share.kernels) for share in shares.by_path.values()),
            launches=len(starts),
            launches_resolved=sum(1 for kernels in starts if kernels),
            seconds=round(time.perf_counter() - began, 3),
        ),
    )


def check_files(project: Project, library: Library, shares: Shares, codes: frozenset[str]) -> Iterator[Finding]:
    """What the checks of `codes` find, file by file."""
    project = replace(project, set_anywhere=shares.variables)
    launchers = shares.launchers()
    for path in shares.by_path:
        starting = [
            one
            for launcher in launchers.get(path, ())
            for one in shares.launches(launcher)
            if any(kernel.path == path for kernel in one.kernels)
        ]
        yield from run_checks(part(project, library, path, starting), codes, path)


def run_checks(project: Project, codes: frozenset[str], path: str) -> Iterator[Finding]:
    """What the checks of `codes` find in `project`, the part about `path`. A check that crashes says which it was."""
    for code, check in CHECKS.items():
        if code in codes:
            try:
                yield from check(project)
            except Exception as error:
                error.add_note(f"{code} was checking {path}")
                raise


def ignore_per_file(findings: Iterator[Finding], settings: Settings, cwd: Path) -> Iterator[Finding]:
    """The `findings` that the per-file-ignores of `settings` leave."""
    rules = [(compile_rules(settings.root, [pattern]), codes) for pattern, codes in settings.per_file_ignores]
    for finding in findings:
        path = (cwd / finding.path).as_posix()
        if not any(rule and finding.code.startswith(codes) and rule.verdict(path) for rule, codes in rules):
            yield finding

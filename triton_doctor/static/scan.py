"""Files to findings: read, link, check, suppress, sort."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from triton_doctor.rulebook import page_paths
from triton_doctor.selection import is_selected
from triton_doctor.static.answers import Inquiry
from triton_doctor.static.checks import CHECKS
from triton_doctor.static.ignore_rules import compile_rules
from triton_doctor.static.library import Library
from triton_doctor.static.memory import NO_MEMORY, remember
from triton_doctor.static.modules import NO_CHANGES
from triton_doctor.static.project import empty_project, whole
from triton_doctor.static.sight import Sight
from triton_doctor.static.suppress import UNUSED, suppress
from triton_doctor.static.unreadable import CODE as UNREADABLE
from triton_doctor.static.workers import find_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from triton_doctor.finding import Finding
    from triton_doctor.settings import Settings
    from triton_doctor.static.cache import Cache
    from triton_doctor.static.files import SourceFile
    from triton_doctor.static.model import Project


Weigh: TypeAlias = "Callable[[Project, Sequence[Finding]], Sequence[Finding]]"


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
    weigh: Weigh | None = None,
    cache: Cache | None = None,
) -> Scan:
    """Check `files`, whose paths are relative to `cwd` where they can be. `on_progress` gets the files done so far.

    `weigh` looks at all that was found before comments and settings silence any of it, and may change or add to it.
    What `cache` has of the scan before is not worked out again.
    """
    began = time.perf_counter()
    known = frozenset(page_paths()) | frozenset(CHECKS)
    runs = frozenset(
        code
        for code in (*CHECKS, UNREADABLE, UNUSED)
        if is_selected(code, select=settings.select, ignore=settings.ignore)
    )
    library = Library(files)
    memory = cache.read() if cache is not None else NO_MEMORY
    changes = NO_CHANGES if memory is NO_MEMORY else memory.changes(library)
    memory.tell(library)
    project = empty_project(library, settings, cwd)
    shares, answers = find_out(Inquiry(project, library, runs, memory, changes), on_progress, alone=weigh is not None)
    if cache is not None and (memory is NO_MEMORY or changes.paths):
        cache.write(remember(library, shares, answers))
    found = [finding for answer in answers.values() for finding in answer.found]
    if weigh is not None:
        weighed = weigh(whole(project, shares), found)
        found = [one for one in weighed if is_selected(one.code, select=settings.select, ignore=settings.ignore)]
    if UNREADABLE in runs:
        unread = (finding for answer in answers.values() for finding in answer.unreadable)
        found += {finding.path: finding for finding in (*library.unreadable.values(), *unread)}.values()
    kept = suppress(found, library.directives(), ran=runs, known=known)
    sight = Sight(frozenset(file.shown for file in files), cwd)
    seen = (sight.judge(finding) for finding in ignore_per_file(kept, settings, cwd))
    findings = sorted(seen, key=lambda finding: finding.order)
    starts = [starts for share in shares.by_path.values() for starts in share.starts]
    return Scan(
        findings=tuple(findings),
        summary=Summary(
            files_seen=len(files),
            files_read=len(answers.keys() | {path for answer in answers.values() for path in answer.rests.consulted}),
            kernels=sum(len(share.kernels) for share in shares.by_path.values()),
            launches=len(starts),
            launches_resolved=sum(1 for kernels in starts if kernels),
            seconds=round(time.perf_counter() - began, 3),
        ),
    )


def ignore_per_file(findings: Iterator[Finding], settings: Settings, cwd: Path) -> Iterator[Finding]:
    """The `findings` that the per-file-ignores of `settings` leave."""
    rules = [(compile_rules(settings.root, [pattern]), codes) for pattern, codes in settings.per_file_ignores]
    for finding in findings:
        path = (cwd / finding.path).as_posix()
        if not any(rule and finding.code.startswith(codes) and rule.verdict(path) for rule, codes in rules):
            yield finding

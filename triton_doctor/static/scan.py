"""Files to findings: read, link, check, suppress, sort."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triton_doctor.rulebook import page_paths
from triton_doctor.selection import is_selected
from triton_doctor.static.ignore_rules import compile_rules
from triton_doctor.static.library import Library
from triton_doctor.static.memory import NO_MEMORY, Memory
from triton_doctor.static.rests import NO_CHANGES
from triton_doctor.static.sight import Sight
from triton_doctor.static.suppress import UNUSED, suppress
from triton_doctor.static.tests import Tests
from triton_doctor.static.unreadable import CODE as UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from triton_doctor.finding import Finding
    from triton_doctor.settings import Settings
    from triton_doctor.static.cache import Cache
    from triton_doctor.static.files import SourceFile
    from triton_doctor.static.inquire import Weigh
    from triton_doctor.static.memory import Outcome


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
    """What was found, in the order of `Finding.order`, and what was looked at.

    `source_of` gives the bytes of a file that the findings are about; None where the file has changed meanwhile.
    """

    findings: tuple[Finding, ...]
    summary: Summary
    source_of: Callable[[str], bytes | None] = field(default=lambda path: b"", compare=False, repr=False)


def scan(
    files: Sequence[SourceFile],
    settings: Settings,
    *,
    cwd: Path,
    asked: frozenset[str] | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
    weigh: Weigh | None = None,
    cache: Cache | None = None,
) -> Scan:
    """Check `files`, whose paths are relative to `cwd` where they can be, and report on those `asked`; None for all.

    `on_progress` gets the files done so far.
    `weigh` looks at all that was found before comments and settings silence any of it, and may change or add to it.
    What `cache` has of the scan before is not worked out again.
    """
    began = time.perf_counter()
    memory = cache.read() if cache is not None else NO_MEMORY
    library = Library(files, memory.seen)
    changes = memory.changes(library, Tests(settings, cwd)) if memory is not NO_MEMORY else NO_CHANGES
    if weigh is None and memory is not NO_MEMORY and not changes.paths and memory.outcome.answers_for(asked):
        outcome, found = memory.outcome, memory.outcome.found()
    else:
        from triton_doctor.static.inquire import inquire  # the checks, and all that they ask

        outcome, found = inquire(
            library, settings, cwd, memory, changes, asked=asked, on_progress=on_progress, weigh=weigh
        )
    known = outcome.checks.union(page_paths())
    ran = frozenset(
        code
        for code in (*outcome.checks, UNREADABLE, UNUSED)
        if is_selected(code, select=settings.select, ignore=settings.ignore)
    )
    if UNREADABLE in ran:
        found += {one.path: one for one in (*library.unreadable.values(), *outcome.unreadable())}.values()
    kept = suppress(found, library.directives(), ran=ran, known=known)
    if cache is not None:
        left = Memory(library.seen(), library.known, outcome)
        if outcome is not memory.outcome or left.seen != memory.seen:
            cache.write(left)
    sight = Sight(frozenset(file.shown for file in files), cwd)
    reported = (finding for finding in kept if asked is None or finding.path in asked)
    seen = (sight.judge(finding) for finding in ignore_per_file(reported, settings, cwd))
    return Scan(
        findings=tuple(sorted(seen, key=lambda finding: finding.order)),
        summary=summarize(outcome, len(files), asked, seconds=round(time.perf_counter() - began, 3)),
        source_of=library.source_of,
    )


def summarize(outcome: Outcome, file_count: int, asked: frozenset[str] | None, *, seconds: float) -> Summary:
    """What was looked at in the files `asked`; None for all `file_count`."""
    shares = [share for path, share in outcome.shares.items() if asked is None or path in asked]
    starts = [starts for share in shares for starts in share.starts]
    answers = {path: one for path, one in outcome.answers.items() if asked is None or path in asked}
    consulted = {path for answer in answers.values() for path in answer.rests.files}
    return Summary(
        files_seen=file_count if asked is None else len(asked),
        files_read=len(answers.keys() | consulted),
        kernels=sum(len(share.kernels) for share in shares),
        launches=len(starts),
        launches_resolved=sum(1 for kernels in starts if kernels),
        seconds=seconds,
    )


def ignore_per_file(findings: Iterator[Finding], settings: Settings, cwd: Path) -> Iterator[Finding]:
    """The `findings` that the per-file-ignores of `settings` leave."""
    rules = [(compile_rules(settings.root, [pattern]), codes) for pattern, codes in settings.per_file_ignores]
    for finding in findings:
        path = (cwd / finding.path).as_posix()
        if not any(rule and finding.code.startswith(codes) and rule.verdict(path) for rule, codes in rules):
            yield finding

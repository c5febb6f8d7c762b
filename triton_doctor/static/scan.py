"""Files to findings: read, link, check, suppress, sort."""

from __future__ import annotations

import os
import stat
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.rulebook import page_paths
from triton_doctor.selection import is_selected
from triton_doctor.static.checks import CHECKS
from triton_doctor.static.directives import read_python_directives
from triton_doctor.static.ignore_rules import compile_rules
from triton_doctor.static.link import link
from triton_doctor.static.prefilter import may_matter
from triton_doctor.static.read import read_module
from triton_doctor.static.suppress import UNUSED, suppress
from triton_doctor.static.unreadable import CODE as UNREADABLE
from triton_doctor.static.unreadable import LIMIT_BYTES, TooLargeError, explain_unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from triton_doctor.finding import Finding
    from triton_doctor.settings import Settings
    from triton_doctor.static.directives import Directive
    from triton_doctor.static.files import SourceFile
    from triton_doctor.static.model import Module, Project


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What reading the files yielded. `directives` is by path, as findings spell it."""

    modules: tuple[Module, ...]
    directives: dict[str, tuple[Directive, ...]]
    unreadable: tuple[Finding, ...]
    files_read: int


def scan(
    files: Sequence[SourceFile],
    settings: Settings,
    *,
    cwd: Path,
    on_progress: Callable[[int], None] = lambda done: None,
) -> Scan:
    """Check `files`, whose paths are relative to `cwd` where they can be. `on_progress` gets the files done so far."""
    began = time.perf_counter()
    known = frozenset(page_paths()) | frozenset(CHECKS)
    runs = frozenset(
        code
        for code in (*CHECKS, UNREADABLE, UNUSED)
        if is_selected(code, select=settings.select, ignore=settings.ignore)
    )
    reading = read_files(files, on_progress)
    project = link(reading.modules)
    found = [*(reading.unreadable if UNREADABLE in runs else ()), *run_checks(project, runs)]
    kept = suppress(found, reading.directives, ran=runs, known=known)
    findings = sorted(ignore_per_file(kept, settings, cwd), key=lambda finding: finding.order)
    return Scan(
        findings=tuple(findings),
        summary=Summary(
            files_seen=len(files),
            files_read=reading.files_read,
            kernels=project.kernels,
            launches=project.launches,
            launches_resolved=project.launches_resolved,
            seconds=round(time.perf_counter() - began, 3),
        ),
    )


def read_files(files: Sequence[SourceFile], on_progress: Callable[[int], None]) -> Reading:
    """Read each of `files` once, as bytes; parse what could matter. Modules come in the order of their paths."""
    modules: list[Module] = []
    directives: dict[str, tuple[Directive, ...]] = {}
    unreadable: list[Finding] = []
    files_read = 0
    with warnings.catch_warnings():
        # The parser warns about invalid escapes in code that is not ours.
        warnings.simplefilter("ignore")
        for done, file in enumerate(files, start=1):
            try:
                data = read_bytes(file)
                if may_matter(data):
                    files_read += 1
                    modules.append(read_module(file.shown, data))
                    if found := read_python_directives(data):
                        directives[file.shown] = found
            except (OSError, TooLargeError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
                unreadable.append(explain_unreadable(file.shown, error))
            except Exception as error:
                error.add_note(f"it was reading {file.path}")
                raise
            on_progress(done)
    return Reading(
        modules=tuple(sorted(modules, key=lambda module: module.path)),
        directives=directives,
        unreadable=tuple(unreadable),
        files_read=files_read,
    )


def read_bytes(file: SourceFile) -> bytes:
    """The bytes of `file`. Raises OSError, and TooLargeError."""
    if file.text is not None:
        return file.text
    with file.path.open("rb") as stream:
        status = os.fstat(stream.fileno())
        data = (
            stream.read()
            if stat.S_ISREG(status.st_mode) and status.st_size <= LIMIT_BYTES
            else stream.read(LIMIT_BYTES + 1)
        )
    if len(data) > LIMIT_BYTES:
        raise TooLargeError
    return data


def run_checks(project: Project, codes: frozenset[str]) -> Iterator[Finding]:
    """What the checks of `codes` find. A check that crashes says which it was."""
    for code, check in CHECKS.items():
        if code in codes:
            try:
                yield from check(project)
            except Exception as error:
                error.add_note(f"{code} was checking")
                raise


def ignore_per_file(findings: Iterator[Finding], settings: Settings, cwd: Path) -> Iterator[Finding]:
    """The `findings` that the per-file-ignores of `settings` leave."""
    rules = [(compile_rules(settings.root, [pattern]), codes) for pattern, codes in settings.per_file_ignores]
    for finding in findings:
        path = (cwd / finding.path).as_posix()
        if not any(rule and finding.code.startswith(codes) and rule.verdict(path) for rule, codes in rules):
            yield finding

"""Files to findings: read, link, check, suppress, sort."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from triton_doctor.rulebook import page_paths
from triton_doctor.selection import is_selected
from triton_doctor.static.checks import CHECKS
from triton_doctor.static.ignore_rules import compile_rules
from triton_doctor.static.link import link
from triton_doctor.static.plans import plan_all
from triton_doctor.static.reader import Reader
from triton_doctor.static.sight import survey
from triton_doctor.static.suppress import UNUSED, suppress
from triton_doctor.static.unreadable import CODE as UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from triton_doctor.finding import Finding
    from triton_doctor.settings import Settings
    from triton_doctor.static.files import SourceFile
    from triton_doctor.static.model import Project
    from triton_doctor.static.model_environment import EnvironmentFile
    from triton_doctor.static.plan import Plan


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
    """What was found, in the order of `Finding.order`, what was looked at, and how some of it could be fixed."""

    findings: tuple[Finding, ...]
    summary: Summary
    plans: tuple[Plan, ...] = ()


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
    reader = Reader(files)
    project = read_project(reader, settings, cwd, on_progress)
    found = [*run_checks(project, runs), *(reader.unreadable if UNREADABLE in runs else ())]
    kept = suppress(found, reader.directives, ran=runs, known=known)
    findings, plans = plan_all(project, sorted(ignore_per_file(kept, settings, cwd), key=lambda finding: finding.order))
    return Scan(
        findings=findings,
        plans=plans,
        summary=Summary(
            files_seen=len(files),
            files_read=reader.files_read,
            kernels=sum(1 for _ in project.kernels()),
            launches=len(project.launches) + len(project.unresolved),
            launches_resolved=len(project.launches),
            seconds=round(time.perf_counter() - began, 3),
        ),
    )


def read_project(
    reader: Reader, settings: Settings, cwd: Path, on_progress: Callable[[int], None] = lambda done: None
) -> Project:
    """All that the files of `reader` say, linked, as `settings` see it."""
    linked = link(reader.read_all(on_progress), reader.read_further)
    is_test = test_files(settings, cwd)
    with_kernels = (path for path, module in linked.modules.items() if module.kernels)
    sight = survey(with_kernels, (file.shown for file in reader.files), cwd)
    return replace(
        linked,
        packages=sight.packages,
        partial=sight.partial,
        environment=tuple(environment_files(linked, reader.environment, is_test)),
        tests=frozenset(filter(is_test, linked.modules)),
        declared={**dict.fromkeys(settings.fixed, "fixed"), **dict.fromkeys(settings.per_call, "per_call")},
        triton_version=settings.triton_version,
    )


def test_files(settings: Settings, cwd: Path) -> Callable[[str], bool]:
    """Tells whether `settings` call the file at a path, as findings spell it, a test."""
    rules = compile_rules(settings.root, settings.tests)
    return lambda path: bool(rules and rules.verdict((cwd / path).as_posix()))


def environment_files(
    project: Project, settings_files: Iterable[EnvironmentFile], is_test: Callable[[str], bool]
) -> Iterator[EnvironmentFile]:
    """The files that set variables, by path; tests are marked as such."""
    python = (module.environment for module in project.modules.values() if module.environment is not None)
    for file in sorted([*python, *settings_files], key=lambda file: file.path):
        yield replace(file, for_tests=file.for_tests or is_test(file.path))


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

"""The static side as one function: files to findings."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from triton_doctor.finding import Facts, Location, Severity, split_cell
from triton_doctor.regular_files import read_regular_file
from triton_doctor.rulebook import page_paths
from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.selection import is_selected
from triton_doctor.static.project.cache.results import combine_results
from triton_doctor.static.project.cache.scan_cache import (
    NO_CACHED_SCAN,
    NO_SCAN_CACHE,
    ScanCache,
    ScanResult,
    read_texts,
)
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.project.names.name_occurrences import find_names
from triton_doctor.static.project.names.unscanned import MORE_THAN_SEARCHED, OtherFiles
from triton_doctor.static.python.unreadable import CODE as UNREADABLE
from triton_doctor.static.sources.ignore_rules import PathPatterns, compile_rules
from triton_doctor.static.sources.notebooks import SUFFIX, Notebook, read_notebook, show_cells, show_location
from triton_doctor.static.sources.shown_paths import path_shower, show_finding
from triton_doctor.static.suppression.own_variables import leave_out_own
from triton_doctor.static.suppression.suppress import UNUSED, concerns, move_to_reported, suppress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from triton_doctor.finding import Finding, Undecided
    from triton_doctor.settings import Settings
    from triton_doctor.static.project.cache.results import Result
    from triton_doctor.static.project.cache.scan_cache import CachedScan, ScanStore
    from triton_doctor.static.project.names.name_occurrences import KernelNames
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.sources.files import SourceFile

Judge: TypeAlias = "Callable[[Project, Sequence[Finding]], Sequence[Finding]]"
# Rules that report every kernel of a project for one reason.
ONE_A_PROJECT = frozenset({"TRD109", "TRD304"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Counts of a scan. `files_read` of `files_seen` could matter to Triton, and were parsed."""

    files_seen: int
    files_read: int
    kernels: int
    launches: int
    launches_resolved: int
    seconds: float
    constexprs_undecided: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The result of a scan: findings in the order of `Finding.order`, counts, and undecided constexprs.

    `fail_on` is the least severity that `--fix` edits for. `limits` say what was not checked, and the consequence.
    `source_of` gives the bytes that findings refer to; None if the file changed meanwhile.
    """

    findings: tuple[Finding, ...]
    summary: Summary
    undecided: tuple[Undecided, ...] = ()
    limits: tuple[str, ...] = ()
    fail_on: Severity = Severity.INFO
    source_of: Callable[[str], bytes | None] = field(default=lambda path: b"", compare=False, repr=False)


class ScanRequest(NamedTuple):
    """How to check files, and on which to report: the arguments of `scan`."""

    settings: Settings
    cwd: Path
    report_paths: frozenset[str] | None
    on_progress: Callable[[int], None]
    weigh: Judge | None

    def selects(self, code: str) -> bool:
        """Return whether the settings select the rule `code`."""
        return is_selected(code, select=self.settings.select, ignore=self.settings.ignore)


class Checked(NamedTuple):
    """What the rules found, the codes of all rules, and the names of the kernels that fixes change."""

    result: Result
    checks: frozenset[str]
    names: Mapping[str, KernelNames]


@emptying_scan_caches()
def scan(
    files: Sequence[SourceFile],
    settings: Settings,
    *,
    cwd: Path,
    projects: Sequence[Path] = (),
    report_paths: frozenset[str] | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
    weigh: Judge | None = None,
    cache: ScanStore | None = None,
) -> Scan:
    """Check `files`, whose paths are relative to `cwd` if below it, and report on those `report_paths`; None for all.

    `projects` are the roots of their projects; `cwd` if empty. `on_progress` gets the number of files done so far.
    `weigh` processes all findings before suppression, and may change or add some. Valid results in `cache` are reused.
    """
    began = time.perf_counter()
    kept = cache.read() if cache is not None else NO_CACHED_SCAN
    database = Database(files, kept.seen)
    request = ScanRequest(settings, cwd, report_paths, on_progress, weigh)
    result, checks, names = check_with_cache(database, request, kept, cache)
    found = [finding for finding in result.found if request.selects(finding.code)]
    if request.selects(UNREADABLE):
        unreadable = (*database.unopened.values(), *result.unreadable)
        found += {finding.path: finding for finding in unreadable}.values()
    ran = frozenset(filter(request.selects, (*checks, UNREADABLE, UNUSED)))
    shown = suppress(found, database.directives(), ran=ran, known=checks.union(page_paths()))
    others = OtherFiles(database.python, names, cwd, projects or (cwd,))
    reported = (finding for finding in shown if concerns(finding, report_paths))
    seen = [others.judge(finding) for finding in ignore_per_file(reported, settings, cwd)]
    undecided = undecided_still(result)
    notebooks = NotebookCells(files, database.source_of)
    if notebooks:
        seen = [show_cells(finding, notebooks.read) for finding in seen]
        undecided = tuple(size.relocate(partial(show_location, read=notebooks.read)) for size in undecided)
    seen = sum_up(seen, projects, cwd)
    seen = list(leave_out_own([*move_to_reported(seen, report_paths, notebooks.source_of)], projects or (cwd,)))
    return Scan(
        findings=tuple(sorted(seen, key=lambda finding: finding.order)),
        fail_on=settings.fail_on,
        limits=(MORE_THAN_SEARCHED,) if others.is_cut else (),
        summary=Summary(
            files_seen=len(files) if report_paths is None else len(report_paths),
            files_read=result.files_read,
            kernels=result.kernels,
            launches=result.launches,
            launches_resolved=result.launches_resolved,
            seconds=round(time.perf_counter() - began, 3),
            constexprs_undecided=len(undecided),
        ),
        undecided=undecided,
        source_of=notebooks.source_of,
    )


def check_with_cache(database: Database, request: ScanRequest, kept: CachedScan, cache: ScanStore | None) -> Checked:
    """Return what `kept` has if no file changed; else check what changed, and store the scan in `cache`."""
    if kept.modules is not None:
        database.kept = kept.modules
    is_same = kept is not NO_CACHED_SCAN and database.seen().digests == kept.seen.digests
    known = combine_results(kept.results, request.report_paths) if is_same and request.weigh is None else None
    if known is not None:
        database.known.directives.update(kept.directives)
        if cache is not None and database.seen() != kept.seen and (rest := kept.load_rest()) is not NO_SCAN_CACHE:
            cache.write(rest._replace(seen=database.seen()))
        return Checked(known, kept.checks, kept.names)
    before = kept.load_rest()
    scan_result, result = check(database, request, before)
    found = (finding for file_result in scan_result.file_results.values() for finding in file_result.found)
    names = find_names(database, found, before.names_after_edits(database, scan_result))
    if cache is not None:
        database.directives()  # kept with the other facts about the files
        texts = read_texts(scan_result, database, before)
        cache.write(ScanCache(database.seen(), database.known, scan_result, names, texts))
    return Checked(result, scan_result.checks, names)


def check(database: Database, request: ScanRequest, before: ScanCache) -> tuple[ScanResult, Result]:
    """Return the results of all files, those in `before` where they still hold, and the report on those wanted."""
    from triton_doctor.static.project.analysis.file_analysis import Analysis
    from triton_doctor.static.project.analysis.parts import empty_project, with_all_launches
    from triton_doctor.static.project.analysis.workers import run_analysis
    from triton_doctor.static.rules.registry import all_rules, find_planned

    settings, cwd, report_paths, on_progress, weigh = request
    project, rules = empty_project(database, settings, cwd), frozenset(all_rules())
    find = partial(find_planned, codes=frozenset(filter(request.selects, rules)))
    earlier, changes = before.after_edits(database, PathPatterns(settings.root, settings.tests, cwd))
    analysis = Analysis(project, database, find, earlier, changes, report_paths)
    summaries, file_results = run_analysis(analysis, on_progress, alone=weigh is not None)
    scan_result = ScanResult(rules, summaries.by_path, file_results)
    result = combine_results(scan_result.results(), report_paths)
    assert result is not None, "every file that a report needs was checked"
    if weigh is not None:
        result = result._replace(found=tuple(weigh(with_all_launches(project, summaries), result.found)))
    return scan_result, result


def show_scan(scan: Scan, base: Path, cwd: Path) -> Scan:
    """Return `scan`, of files below `base`, with paths for a user in `cwd`. The result is not for editing."""
    if base == cwd:
        return scan
    show = path_shower(base, cwd)
    return replace(
        scan,
        findings=tuple(show_finding(finding, show) for finding in scan.findings),
        undecided=tuple(size.relocate(lambda at: replace(at, path=show(at.path))) for size in scan.undecided),
    )


def sum_up(findings: Sequence[Finding], projects: Sequence[Path], cwd: Path) -> list[Finding]:
    """Return `findings` with those of ONE_A_PROJECT as one for each of `projects`, at the first kernel by path.

    A file in none of them counts as one of `cwd`.
    """
    innermost = sorted(projects, key=lambda root: len(root.parts), reverse=True)
    groups: defaultdict[tuple[str, Path], list[Finding]] = defaultdict(list)
    for finding in sorted(findings, key=lambda finding: finding.order):
        if finding.code in ONE_A_PROJECT:
            project = next((root for root in innermost if (cwd / finding.path).is_relative_to(root)), cwd)
            groups[finding.code, project].append(finding)
    summed = []
    for group in groups.values():
        first, *others = group
        if not others:
            summed.append(first)
            continue
        name = f"`{first.facts.kernel}`"
        message = first.message.replace(name, f"{name} and {len(others)} other kernel{'s' * (len(others) > 1)}", 1)
        advices = Counter(finding.advice for finding in group).most_common()
        counted = "; ".join(f"{advice} ({count} kernel{'s' * (count > 1)})" for advice, count in advices)
        # Of no kernel: the other places are none of its launches.
        facts = Facts(also=tuple(Location(other.path, other.span.line) for other in others))
        advice = counted if len(advices) > 1 else first.advice
        summed.append(replace(first, message=message, advice=advice, facts=facts))
    return [*(finding for finding in findings if finding.code not in ONE_A_PROJECT), *summed]


def undecided_still(result: Result) -> tuple[Undecided, ...]:
    """Return the undecided constexprs of `result` that no recorded run decides."""
    judged = {
        (finding.facts.kernel_location, finding.facts.parameter)
        for finding in result.found
        if finding.evidence is not None
    }
    return tuple(size for size in result.undecided if (size.kernel_location, size.parameter) not in judged)


class NotebookCells:
    """The cells of the notebooks among `files`, each read on access; `source_of` gives programs."""

    def __init__(self, files: Iterable[SourceFile], source_of: Callable[[str], bytes | None]) -> None:
        """Nothing is read yet."""
        self._files = {file.shown: file for file in files if file.shown.endswith(SUFFIX)}
        self._source_of = source_of
        self._read: dict[str, Notebook] = {}

    def __bool__(self) -> bool:
        return bool(self._files)

    def read(self, path: str) -> Notebook:
        """Return the notebook at `path`; without cells if it changed since the scan."""
        if path not in self._read:
            file = self._files[path]
            try:
                found = read_notebook(file.text if file.text is not None else read_regular_file(file.name))
            except OSError:
                found = read_notebook(b"")
            self._read[path] = found if found.program == self._source_of(path) else read_notebook(b"")
        return self._read[path]

    def source_of(self, path: str) -> bytes | None:
        """Return the bytes of a file or cell that findings with that path refer to; None if changed."""
        name, number = split_cell(path)
        if number is None:
            return self._source_of(path)
        cell = next((cell for cell in self.read(name).cells if cell.number == number), None)
        return "\n".join(cell.lines).encode("utf-8", "replace") if cell is not None else None


def ignore_per_file(findings: Iterator[Finding], settings: Settings, cwd: Path) -> Iterator[Finding]:
    """Yield the `findings` that the per-file-ignores of `settings` leave."""
    rules = [(compile_rules(settings.root, [pattern]), codes) for pattern, codes in settings.per_file_ignores]
    for finding in findings:
        path = (cwd / finding.path).as_posix()
        if not any(rule and finding.code.startswith(codes) and rule.verdict(path) for rule, codes in rules):
            yield finding

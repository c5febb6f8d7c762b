"""What one scan leaves for the next: the digest of each file, and each result with its dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from triton_doctor.static.project.cache.results import FileFindings, FileReport
from triton_doctor.static.project.database.dependencies import NO_CHANGES, ChangedFile, Changes
from triton_doctor.static.project.database.import_index import last_name
from triton_doctor.static.project.database.roles import (
    FileFacts,
    Role,
    imported_sources,
    imported_words,
    taken_names,
    takes_all,
)
from triton_doctor.static.project.names.name_occurrences import key_of
from triton_doctor.static.sources.contents import NO_STAMPS, FileStamps

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Set

    from triton_doctor.finding import Finding, Undecided
    from triton_doctor.static.project.database.database import Database, KeptModules
    from triton_doctor.static.project.database.dependencies import Dependencies
    from triton_doctor.static.project.names.name_occurrences import KernelNames
    from triton_doctor.static.sources.directives import Directive


# Limit of the stored texts; a cache file of more than 64 MiB is not read.
_MOST_BYTES = 16 << 20


class FileSummary(NamedTuple):
    """The contribution of one file: the names of its `kernels`, the variables it `sets`, and its launches.

    For each launch, `starts` has the kernels that it may start, by path and qualified name; empty if unknown.
    `unreadable` is as in FileResult.
    """

    kernels: tuple[str, ...]
    sets: frozenset[str]
    starts: tuple[tuple[tuple[str, str], ...], ...]
    unreadable: tuple[Finding, ...]
    dependencies: Dependencies

    @property
    def homes(self) -> frozenset[str]:
        """The files whose kernels its launches may start."""
        return frozenset(home for kernels in self.starts for home, _ in kernels)


class FileResult(NamedTuple):
    """The findings in one file, the files `launchers` that launch its kernels, and its undecided constexprs.

    `unreadable` are the findings about files that could not be read for it. `variables` are the variables looked up for
    it, with whether some file sets them. `has_programs` is `Project.has_programs`, None if it was not looked up.
    """

    found: tuple[Finding, ...]
    undecided: tuple[Undecided, ...]
    unreadable: tuple[Finding, ...]
    launchers: tuple[str, ...]
    variables: frozenset[tuple[str, bool]]
    has_programs: bool | None
    dependencies: Dependencies


class ScanResult(NamedTuple):
    """The results of a scan, by path. `checks` are the codes of the rules that existed."""

    checks: frozenset[str]
    summaries: Mapping[str, FileSummary]
    file_results: Mapping[str, FileResult]

    def results(self) -> dict[str, FileReport]:
        """Return the reports, by path, without their dependencies."""
        return {path: self._result(path, summary) for path, summary in self.summaries.items()}

    def _result(self, path: str, summary: FileSummary) -> FileReport:
        result = self.file_results.get(path)
        return FileReport(
            kernels=len(summary.kernels),
            launches=len(summary.starts),
            launches_resolved=sum(1 for kernels in summary.starts if kernels),
            homes=summary.homes,
            unreadable=summary.unreadable,
            findings=None
            if result is None
            else FileFindings(result.found, result.undecided, result.unreadable, result.dependencies.read_paths),
        )


class ScanCache(NamedTuple):
    """A scan for the next one: stamps and facts of its files, its results, and `names` of kernels by `key_of`.

    `texts` are the texts of the Python files that some result depends on.
    """

    seen: FileStamps
    known: FileFacts
    scan_result: ScanResult
    names: Mapping[str, KernelNames]
    texts: Mapping[str, bytes]

    def after_edits(self, database: Database, tests: Container[str] = ()) -> tuple[ScanResult, Changes]:
        """Return the results, and the changes since. `tests` are test modules.

        Passes the facts about unchanged files on to `database`.
        """
        if self is NO_SCAN_CACHE:
            return self.scan_result, NO_CHANGES
        now, before = database.seen().digests, self.seen.digests
        gone, came = before.keys() - now.keys(), now.keys() - before.keys()
        paths = frozenset({path for path, digest in now.items() if before.get(path) != digest} | gone)
        database.known = self.known.without(paths) if paths else self.known
        unreadable = (finding.path for summary in self.scan_result.summaries.values() for finding in summary.unreadable)
        database.parsed = self.scan_result.summaries.keys() - paths - frozenset(unreadable)
        return self.scan_result, self._changes(database, tests, paths, gone, came)

    def names_after_edits(self, database: Database, now: ScanResult) -> dict[str, KernelNames]:
        """Return the names of those kernels whose findings are in `now` as before, and that no edit concerns."""
        before = {id(result) for result in self.scan_result.file_results.values()}
        new = (
            finding.fix for result in now.file_results.values() if id(result) not in before for finding in result.found
        )
        again = {key_of(fix.kernel) for fix in new if fix is not None and fix.kernel is not None}
        edited = self._edited_texts(database)
        known = self.names.items() if edited is not None else ()
        return {key: names for key, names in known if key not in again and names.hold_after(edited or ())}

    def _edited_texts(self, database: Database) -> list[tuple[str, bytes]] | None:
        """Return the texts that changed, old and new, by path; None if that changed files or imports."""
        before, now = self.seen.digests, database.seen().digests
        texts = list[tuple[str, bytes]]()
        for path in before.keys() | now.keys():
            if before.get(path) != now.get(path):
                if path not in self.texts or path not in database.python:
                    return None
                old, new = self.texts[path], database.python[path]
                if _all_imports(old) != _all_imports(new):
                    return None
                texts += [(path, old), (path, new)]
        return texts

    def _changes(
        self, database: Database, tests: Container[str], paths: frozenset[str], gone: Set[str], came: Set[str]
    ) -> Changes:
        python = (path for path in paths if path in database.python or path in self.known.roles)
        files = {path: self._changed(path, database) for path in python}
        return Changes(
            paths,
            frozenset(gone),
            frozenset(map(last_name, came)),
            files,
            tests,
            database.answers,
            database.filter_importers,
        )

    def _changed(self, path: str, database: Database) -> ChangedFile:
        before = self.known.words.get(path) if _imports(self.known.roles.get(path)) else None
        text = database.python.get(path, b"")
        words = database.imported_words(path) if text and _imports(database.role(path)) else frozenset[str]()
        return ChangedFile(words, before or frozenset(), taken_names(text))


def read_texts(scan_result: ScanResult, database: Database, before: ScanCache) -> Mapping[str, bytes]:
    """Return the texts of the Python files that `scan_result` depends on; empty if too large.

    Reuses those in `before`.
    """
    now, then = database.seen().digests, before.seen.digests
    results: tuple[FileSummary | FileResult, ...] = (
        *scan_result.summaries.values(),
        *scan_result.file_results.values(),
    )
    paths = (
        frozenset(scan_result.summaries).union(*(result.dependencies.read_paths for result in results))
        & database.python.keys()
    )
    known = {path for path in paths & before.texts.keys() if now.get(path) == then.get(path)}
    texts = {path: before.texts[path] if path in known else database.python[path] for path in sorted(paths)}
    return texts if sum(map(len, texts.values())) <= _MOST_BYTES else {}


def _all_imports(text: bytes) -> tuple[object, ...]:
    return imported_words(text), imported_sources(text), takes_all(text)


def _imports(role: Role | None) -> bool:
    """Return whether the imports of files with this role are searched."""
    return role is not None and role is not Role.BYSTANDER


class CachedScan(NamedTuple):
    """The part of the last scan that a run needs if no file changed.

    `checks` are as in ScanResult; `results` are by path.

    `load_rest` returns the rest, NO_SCAN_CACHE if that is damaged. `modules` are set if the scan ran in this process.
    """

    seen: FileStamps
    directives: Mapping[str, tuple[Directive, ...]]
    checks: frozenset[str]
    results: Mapping[str, FileReport]
    names: Mapping[str, KernelNames]
    load_rest: Callable[[], ScanCache]
    modules: KeptModules | None = None


class ScanStore(Protocol):
    """Stores the last scan."""

    def read(self) -> CachedScan:
        """Return the last scan; NO_CACHED_SCAN if there is none."""
        ...

    def write(self, scan_cache: ScanCache) -> None:
        """Store `scan_cache` for the next scan."""
        ...


NO_SCAN_CACHE = ScanCache(NO_STAMPS, FileFacts({}, {}, {}, {}, {}, {}, {}), ScanResult(frozenset(), {}, {}), {}, {})
NO_CACHED_SCAN = CachedScan(NO_STAMPS, {}, frozenset(), {}, {}, lambda: NO_SCAN_CACHE)

"""What one scan leaves for the next: of each file by content, and of each answer what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from triton_doctor.static.project.cache.results import FileFindings, FileReport
from triton_doctor.static.project.database.dependencies import NO_CHANGES, ChangedFile, Changes
from triton_doctor.static.project.database.import_index import last_name
from triton_doctor.static.project.database.roles import FileFacts, Role, facts_of, taken_names
from triton_doctor.static.python.moved_lines import find_moved_lines
from triton_doctor.static.sources.contents import NO_STAMPS, FileStamps, content_digest
from triton_doctor.static.sources.notebooks import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Set

    from triton_doctor.finding import Finding, Undecided
    from triton_doctor.static.project.database.database import Database
    from triton_doctor.static.project.database.dependencies import Dependencies
    from triton_doctor.static.project.database.kept_modules import KeptModules
    from triton_doctor.static.project.database.kernel_uses import KernelUses
    from triton_doctor.static.python.moved_lines import MovedLines
    from triton_doctor.static.sources.directives import Directive


# Of texts; a cache file of more than 64 MiB is not read.
_MOST_BYTES = 16 << 20


class FileSummary(NamedTuple):
    """What one file adds: the names of its `kernels`, the variables it `sets`, and its launches.

    For each launch, `starts` has the kernels that it may start, by path and qualified name; none where it is not known.
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
    """What is `found` in one file, whose kernels the files `launchers` launch, and what stays `undecided` of these.

    `unreadable` are the findings of the files that should have been read for it, and could not be. `variables` are
    those that it was asked of whether some file sets them, and whether one did. `has_programs` is what it was told of
    the project's kernels outside of tests and trials; None where it did not ask.
    """

    found: tuple[Finding, ...]
    undecided: tuple[Undecided, ...]
    unreadable: tuple[Finding, ...]
    launchers: tuple[str, ...]
    variables: frozenset[tuple[str, bool]]
    has_programs: bool | None
    dependencies: Dependencies


class ScanResult(NamedTuple):
    """What a scan came to, by path; `checks` are the codes that it could look for."""

    checks: frozenset[str]
    shares: Mapping[str, FileSummary]
    answers: Mapping[str, FileResult]

    def results(self) -> dict[str, FileReport]:
        """What was found, by path, without what it rests on."""
        return {path: self._result(path, share) for path, share in self.shares.items()}

    def _result(self, path: str, share: FileSummary) -> FileReport:
        answer = self.answers.get(path)
        return FileReport(
            kernels=len(share.kernels),
            launches=len(share.starts),
            launches_resolved=sum(1 for kernels in share.starts if kernels),
            homes=share.homes,
            unreadable=share.unreadable,
            reading=None
            if answer is None
            else FileFindings(answer.found, answer.undecided, answer.unreadable, answer.dependencies.files),
        )


class ScanCache(NamedTuple):
    """The files as they were, what their bytes tell, what the scan came to, and `uses` of kernels by `key_of`.

    `texts` are those of Python files that some result depends on.
    """

    seen: FileStamps
    known: FileFacts
    outcome: ScanResult
    uses: Mapping[str, KernelUses]
    texts: Mapping[str, bytes]

    def after_edits(self, library: Database, tests: Container[str] = ()) -> tuple[ScanResult, Changes]:
        """The results, at their places in `library`, and what is not there as it was. `tests` only test.

        What is known of the files that are as they were, `library` takes over.
        """
        if self is NO_SCAN_CACHE:
            return self.outcome, NO_CHANGES
        now, before = library.seen().digests, self.seen.digests
        gone, came = before.keys() - now.keys(), now.keys() - before.keys()
        paths = frozenset({path for path, digest in now.items() if before.get(path) != digest} | gone)
        library.known = self.known.but(paths) if paths else self.known
        unreadable = (one.path for share in self.outcome.shares.values() for one in share.unreadable)
        library.parsed = self.outcome.shares.keys() - paths - frozenset(unreadable)
        moved = [
            one for path in sorted(paths & library.python.keys()) if (one := self._moved(path, library)) is not None
        ]
        outcome = self.outcome
        for one in moved:
            outcome = move_results(outcome, one, library)
        paths -= {one.path for one in moved}
        return outcome, self._changes(library, tests, paths, gone, came)

    def _moved(self, path: str, library: Database) -> MovedLines | None:
        """What moved in a Python file; None where it says something else than before."""
        before, after = self.texts.get(path, b""), library.python[path]
        if path.endswith(SUFFIX) or content_digest(before) != self.seen.digests.get(path):
            return None
        moved = find_moved_lines(path, before, after)
        return moved if moved is not None and facts_of(before) == facts_of(after) else None

    def _changes(
        self, library: Database, tests: Container[str], paths: frozenset[str], gone: Set[str], came: Set[str]
    ) -> Changes:
        python = (path for path in paths if path in library.python or path in self.known.roles)
        files = {path: self._changed(path, library) for path in python}
        return Changes(
            paths,
            frozenset(gone),
            frozenset(map(last_name, came)),
            files,
            tests,
            library.fingerprint,
            library.importing,
        )

    def _changed(self, path: str, library: Database) -> ChangedFile:
        before = self.known.words.get(path) if _imports(self.known.roles.get(path)) else None
        text = library.python.get(path, b"")
        words = library.words(path) if text and _imports(library.role(path)) else frozenset[str]()
        return ChangedFile(words, before or frozenset(), taken_names(text))


def read_texts(outcome: ScanResult, library: Database, before: ScanCache) -> Mapping[str, bytes]:
    """The texts of the Python files that `outcome` depends on, none of many; those in `before` are not read again."""
    now, then = library.seen().digests, before.seen.digests
    results: tuple[FileSummary | FileResult, ...] = (*outcome.shares.values(), *outcome.answers.values())
    paths = frozenset(outcome.shares).union(*(one.dependencies.files for one in results)) & library.python.keys()
    known = {path for path in paths & before.texts.keys() if now.get(path) == then.get(path)}
    texts = {path: before.texts[path] if path in known else library.python[path] for path in sorted(paths)}
    return texts if sum(map(len, texts.values())) <= _MOST_BYTES else {}


def move_results(outcome: ScanResult, moved: MovedLines, library: Database) -> ScanResult:
    """`outcome` at the places of now. What names a line in words is left out."""
    shares = {path: _move_summary(one, moved, library) for path, one in outcome.shares.items()}
    answers = {path: _move_result(one, moved, library) for path, one in outcome.answers.items()}
    return outcome._replace(
        shares={path: one for path, one in shares.items() if one is not None},
        answers={path: one for path, one in answers.items() if one is not None},
    )


def _move_summary(summary: FileSummary, moved: MovedLines, library: Database) -> FileSummary | None:
    unreadable = _move_findings(summary.unreadable, moved)
    dependencies = summary.dependencies.ask_again(moved.path, library.fingerprint)
    if unreadable is None or dependencies is None:
        return None
    return summary._replace(unreadable=unreadable, dependencies=dependencies)


def _move_result(result: FileResult, moved: MovedLines, library: Database) -> FileResult | None:
    found, unreadable = _move_findings(result.found, moved), _move_findings(result.unreadable, moved)
    dependencies = result.dependencies.ask_again(moved.path, library.fingerprint)
    if found is None or unreadable is None or dependencies is None:
        return None
    undecided = tuple(map(moved.undecided, result.undecided))
    return result._replace(found=found, undecided=undecided, unreadable=unreadable, dependencies=dependencies)


def _move_findings(findings: tuple[Finding, ...], moved: MovedLines) -> tuple[Finding, ...] | None:
    there = tuple(new for one in findings if (new := moved.finding(one)) is not None)
    return there if len(there) == len(findings) else None


def _imports(role: Role | None) -> bool:
    """Whether somebody looks for callers there."""
    return role is not None and role is not Role.BYSTANDER


class CachedScan(NamedTuple):
    """What a run needs of the scan before where no file has changed; `checks` are as in ScanResult, `results` by path.

    `recall` returns the rest, and NO_SCAN_CACHE if that is damaged. `modules` are there where it ran in this process.
    """

    seen: FileStamps
    directives: Mapping[str, tuple[Directive, ...]]
    checks: frozenset[str]
    results: Mapping[str, FileReport]
    uses: Mapping[str, KernelUses]
    recall: Callable[[], ScanCache]
    modules: KeptModules | None = None


class ScanStore(Protocol):
    """Where one scan leaves what the next can build on."""

    def read(self) -> CachedScan:
        """What the last scan left; NO_CACHED_SCAN where there was none."""
        ...

    def write(self, memory: ScanCache) -> None:
        """Leave `memory` for the next scan."""
        ...


NO_SCAN_CACHE = ScanCache(NO_STAMPS, FileFacts({}, {}, {}, {}, {}, {}, {}), ScanResult(frozenset(), {}, {}), {}, {})
NO_CACHED_SCAN = CachedScan(NO_STAMPS, {}, frozenset(), {}, {}, lambda: NO_SCAN_CACHE)

"""The dependencies of a result, and whether it is still valid after some files changed."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from triton_doctor.static.python.module import Module
    from triton_doctor.static.sources.source_text import TextPattern

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryKind(Generic[Answer]):
    """A kind of question to one module about a word. `read` computes the answer, a plain value compared by its `repr`.

    After an edit of the module, results that used an answer remain valid if the answer is the same. `pattern` gives a
    text search that matches every module with a non-empty answer; None if any module may have one. Such a module also
    matches one of `marks`, if any are given, whatever the word.
    """

    kind: str
    read: Callable[[Module, str], Answer]
    pattern: Callable[[str], TextPattern] | None = None
    marks: tuple[TextPattern, ...] = ()


# Every kind of query, by `kind`.
QUERIES: dict[str, QueryKind[Any]] = {}


def declare_query(
    kind: str,
    read: Callable[[Module, str], Answer],
    pattern: Callable[[str], TextPattern] | None = None,
    marks: tuple[TextPattern, ...] = (),
) -> QueryKind[Answer]:
    """Create a query and register it in QUERIES: a cache refers to queries by `kind`."""
    QUERIES[kind] = QueryKind(kind=kind, read=read, pattern=pattern, marks=marks)
    return QUERIES[kind]


class ModuleQuery(NamedTuple):
    """A query of QUERIES, given by its kind, about `word`."""

    kind: str
    word: str


class QueryResult(NamedTuple):
    """The fingerprint of the answer of the file at `path` to `query`; empty for an empty answer."""

    path: str
    query: ModuleQuery
    fingerprint: bytes


class ModuleSearch(NamedTuple):
    """A query to all modules that may name something; to test modules only if `with_tests`.

    These are the file `home`, and the files that import one of `words` and also `name`, or take it from an imported
    module. If `member` is given, they must contain `something.member`.
    """

    name: str
    home: str
    words: frozenset[str]
    member: str | None
    query: ModuleQuery
    with_tests: bool


class Dependencies(NamedTuple):
    """What a result depends on.

    - `read_paths`: the whole content of these files.
    - `existing`: that these files exist.
    - `missing`: that no file has one of these names; it would have been read or queried.
    - `query_results`: the answers to single queries.
    - `searches`, `search_results`: all non-empty answers to these searches.
    - `unimported`: that no file imports a module of this name, except those read.
    """

    read_paths: frozenset[str]
    existing: frozenset[str]
    missing: frozenset[str]
    query_results: frozenset[QueryResult]
    search_results: frozenset[QueryResult]
    searches: frozenset[ModuleSearch]
    unimported: frozenset[str]

    @property
    def files(self) -> frozenset[str]:
        """The files whose content the result depends on."""
        return self.read_paths.union(result.path for result in (*self.query_results, *self.search_results))

    def hold_after(self, changes: Changes) -> bool:
        """Return whether the result is still valid after `changes`."""
        return (
            self.read_paths.isdisjoint(changes.paths)
            and self.existing.isdisjoint(changes.gone)
            and self.missing.isdisjoint(changes.names)
            and not any(map(changes.imports, self.unimported))
            and all(changes.confirms(result) for result in self.query_results if result.path in changes.paths)
            and {result for result in self.search_results if result.path in changes.paths}
            == frozenset[QueryResult]().union(*map(changes.search_results, self.searches))
        )


def fingerprint_of(answer: object) -> bytes:
    """Return a fingerprint of `answer`; empty for an empty answer."""
    return blake2b(repr(answer).encode("utf-8", "surrogatepass"), digest_size=8).digest() if answer else b""


class ChangedFile(NamedTuple):
    """A changed Python file: the imported `words`, now and before, and the names `taken` from modules."""

    words: frozenset[str]
    words_before: frozenset[str]
    taken: frozenset[bytes]

    def fits(self, search: ModuleSearch, path: str) -> bool:
        """Return whether the file, at `path`, may name what is searched, given that it imports one of the words."""
        named = path == search.home or search.name in self.words or search.name.encode() in self.taken
        return named and (search.member is None or search.member.encode() in self.taken)


class Changes:
    """What changed since a scan: `paths` of files that changed, appeared or vanished, those `gone`, and new `names`."""

    def __init__(
        self,
        paths: frozenset[str],
        gone: frozenset[str],
        names: frozenset[str],
        files: Mapping[str, ChangedFile],
        tests: Container[str],
        query_module: Callable[[str, ModuleQuery], bytes | None],
        importing: Callable[[str, Iterable[str]], Iterable[str]],
    ) -> None:
        """`files` are the Python files among `paths`.

        `query_module` gives the current fingerprint of an answer, or None.

        `importing` filters files by whether they import a module of that name, or something from it.
        """
        self.paths = paths
        self.gone = gone
        self.names = names
        self._files = files
        self._tests = tests
        self._query_module = query_module
        self._imported_by = importing
        packages = (file for path, file in files.items() if path.endswith("__init__.py"))
        self._handed_on = frozenset[str]().union(*(file.words ^ file.words_before for file in packages))
        self._importing: dict[str, list[str]] = {}
        for path, file in files.items():
            for word in file.words:
                self._importing.setdefault(word, []).append(path)
        self._found: dict[ModuleSearch, frozenset[QueryResult]] = {}

    def confirms(self, result: QueryResult) -> bool:
        """Return whether the file's answer is unchanged."""
        return result.path not in self.gone and self._query_module(result.path, result.query) == result.fingerprint

    def imports(self, module: str) -> bool:
        """Return whether a changed file imports a module of that name, or something from it."""
        return any(True for _ in self._imported_by(module, self._files.keys() - self.gone))

    def search_results(self, search: ModuleSearch) -> frozenset[QueryResult]:
        """Return the results of `search` in changed files.

        If a package changed what it re-exports, so that other files may be affected, the result equals no earlier one.
        """
        if search not in self._found:
            goes_elsewhere = not self._handed_on.isdisjoint(search.words)
            self._found[search] = frozenset([_NO_RESULT] if goes_elsewhere else self._results(search))
        return self._found[search]

    def _results(self, search: ModuleSearch) -> Iterator[QueryResult]:
        importing = {path for word in search.words for path in self._importing.get(word, ())}
        for path in importing | ({search.home} & self._files.keys()):
            if self._files[path].fits(search, path) and (search.with_tests or path not in self._tests):
                fingerprint = self._query_module(path, search.query)
                if fingerprint is None:
                    yield _NO_RESULT
                elif fingerprint:
                    yield QueryResult(path, search.query, fingerprint)


_NO_RESULT = QueryResult("", ModuleQuery("", ""), b"")
NO_CHANGES = Changes(frozenset(), frozenset(), frozenset(), {}, (), lambda path, query: None, lambda name, paths: ())

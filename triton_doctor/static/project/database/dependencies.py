"""What an answer rests on, and what changed since: whether it is still the answer."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from triton_doctor.static.python.module import Module
    from triton_doctor.static.sources.source_text import TextPattern

Said = TypeVar("Said")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryKind(Generic[Said]):
    """A question to one module about a word, which `read` answers by a plain value: it is compared by its `repr`.

    After an edit of the module, an answer that was made from this value stands if the value is the same. `sign` gives
    the text that a module has if it has something to say; None where every module may. Where `marks` are given, it has
    one of these too, whatever the word is.
    """

    kind: str
    read: Callable[[Module, str], Said]
    sign: Callable[[str], TextPattern] | None = None
    marks: tuple[TextPattern, ...] = ()


# By the kinds of queries.
QUERIES: dict[str, QueryKind[Any]] = {}


def declare_query(
    kind: str,
    read: Callable[[Module, str], Said],
    sign: Callable[[str], TextPattern] | None = None,
    marks: tuple[TextPattern, ...] = (),
) -> QueryKind[Said]:
    """Make a query, and add it to QUERIES: a cache names queries by `kind`."""
    QUERIES[kind] = QueryKind(kind=kind, read=read, sign=sign, marks=marks)
    return QUERIES[kind]


class ModuleQuery(NamedTuple):
    """One of QUERIES, by its kind, about `word`."""

    kind: str
    word: str


class QueryResult(NamedTuple):
    """What the file at `path` said to `question`, in short; nothing where it had nothing to say."""

    path: str
    question: ModuleQuery
    said: bytes


class ModuleSearch(NamedTuple):
    """A question to all modules that may name something, those of tests too where it is `with_tests`.

    They import one of `words`, and `name` or take it from what they import; or they are the file `home`. They say
    `something.member`, where that is given.
    """

    name: str
    home: str
    words: frozenset[str]
    member: str | None
    question: ModuleQuery
    with_tests: bool


class Dependencies(NamedTuple):
    """What an answer rests on: files that were `consulted`, by path, `replies`, `searches`, and what those `found`.

    No file was there by a name that is `missed`: it would have been consulted or asked. Of files `there` it matters no
    more than that. A search found the files that had something to say to its question. Of modules called a name that is
    `unimported` no file imported anything, but for those consulted.
    """

    consulted: frozenset[str]
    there: frozenset[str]
    missed: frozenset[str]
    replies: frozenset[QueryResult]
    found: frozenset[QueryResult]
    searches: frozenset[ModuleSearch]
    unimported: frozenset[str]

    @property
    def files(self) -> frozenset[str]:
        """The files that were read for it, as far as they told something."""
        return self.consulted.union(reply.path for reply in (*self.replies, *self.found))

    def ask_again(self, path: str, ask: Callable[[str, ModuleQuery], bytes | None]) -> Dependencies | None:
        """The same with what the file at `path` says now, on other lines; None where it cannot be read."""
        kinds = []
        for results in (self.replies, self.found):
            old = frozenset(one for one in results if one.path == path)
            new = [(one, ask(path, one.question)) for one in old]
            if any(said is None for _, said in new):
                return None
            kinds.append((results - old).union(one._replace(said=said) for one, said in new if said is not None))
        return self._replace(replies=kinds[0], found=kinds[1])

    def stands(self, changes: Changes) -> bool:
        """Whether the answer is the same after `changes`."""
        return (
            self.consulted.isdisjoint(changes.paths)
            and self.there.isdisjoint(changes.gone)
            and self.missed.isdisjoint(changes.names)
            and not any(map(changes.imports, self.unimported))
            and all(changes.confirm(reply) for reply in self.replies if reply.path in changes.paths)
            and {reply for reply in self.found if reply.path in changes.paths}
            == frozenset[QueryResult]().union(*map(changes.found, self.searches))
        )


def digest(said: object) -> bytes:
    """What tells `said` from anything else; nothing for what is empty."""
    return blake2b(repr(said).encode("utf-8", "surrogatepass"), digest_size=8).digest() if said else b""


class ChangedFile(NamedTuple):
    """A Python file that is not as it was: the `words` that it imports, and did; what may be `taken` from modules."""

    words: frozenset[str]
    words_before: frozenset[str]
    taken: frozenset[bytes]

    def fits(self, search: ModuleSearch, path: str) -> bool:
        """Whether it, at `path`, may name what is searched, given that it imports one of the words."""
        named = path == search.home or search.name in self.words or search.name.encode() in self.taken
        return named and (search.member is None or search.member.encode() in self.taken)


class Changes:
    """What is not as it was: `paths` of files that changed, came or went, those `gone`, and the `names` that came."""

    def __init__(
        self,
        paths: frozenset[str],
        gone: frozenset[str],
        names: frozenset[str],
        files: Mapping[str, ChangedFile],
        tests: Container[str],
        ask: Callable[[str, ModuleQuery], bytes | None],
        importing: Callable[[str, Iterable[str]], Iterable[str]],
    ) -> None:
        """`files` are the Python files among `paths`; what one says now, `ask` tells: None where it cannot be read.

        `importing` gives those of some files that import a module by its name, or something of it.
        """
        self.paths = paths
        self.gone = gone
        self.names = names
        self._files = files
        self._tests = tests
        self._ask = ask
        self._imported_by = importing
        packages = (file for path, file in files.items() if path.endswith("__init__.py"))
        self._handed_on = frozenset[str]().union(*(file.words ^ file.words_before for file in packages))
        self._importing: dict[str, list[str]] = {}
        for path, file in files.items():
            for word in file.words:
                self._importing.setdefault(word, []).append(path)
        self._found: dict[ModuleSearch, frozenset[QueryResult]] = {}

    def confirm(self, reply: QueryResult) -> bool:
        """Whether the file says the same now."""
        return reply.path not in self.gone and self._ask(reply.path, reply.question) == reply.said

    def imports(self, module: str) -> bool:
        """Whether a file that changed imports a module called so, or something of it."""
        return any(True for _ in self._imported_by(module, self._files.keys() - self.gone))

    def found(self, search: ModuleSearch) -> frozenset[QueryResult]:
        """What `search` finds in files that changed; what none ever said, where packages may lead it to others."""
        if search not in self._found:
            goes_elsewhere = not self._handed_on.isdisjoint(search.words)
            self._found[search] = frozenset([_NEVER_SAID] if goes_elsewhere else self._results(search))
        return self._found[search]

    def _results(self, search: ModuleSearch) -> Iterator[QueryResult]:
        importing = {path for word in search.words for path in self._importing.get(word, ())}
        for path in importing | ({search.home} & self._files.keys()):
            if self._files[path].fits(search, path) and (search.with_tests or path not in self._tests):
                said = self._ask(path, search.question)
                if said is None:
                    yield _NEVER_SAID
                elif said:
                    yield QueryResult(path, search.question, said)


_NEVER_SAID = QueryResult("", ModuleQuery("", ""), b"")
NO_CHANGES = Changes(frozenset(), frozenset(), frozenset(), {}, (), lambda path, question: None, lambda name, paths: ())

"""The modules of a scan as one analysis sees them: what it reads or asks is what its answer depends on.

There are three ways to learn something of a file, and each records what it has to. To read a module, `modules[path]`,
makes the answer depend on all of the file; to ask it a `QueryKind` on what it says to that alone; to look whether it is
there, `path in modules`, on no more than that.
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import TYPE_CHECKING

from triton_doctor.static.project.database.dependencies import (
    Dependencies,
    ModuleQuery,
    ModuleSearch,
    QueryResult,
    Said,
)
from triton_doctor.static.project.database.import_index import last_name

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from triton_doctor.static.project.database.database import Database
    from triton_doctor.static.project.database.dependencies import QueryKind
    from triton_doctor.static.python.module import Module
    from triton_doctor.static.sources.source_text import TextPattern


class TrackedModules(Mapping[str, "Module"]):
    """The Python files of `library` by path, for one analysis."""

    def __init__(self, library: Database) -> None:
        """Nothing is read or asked yet."""
        self._library = library
        self._modules: dict[str, Module] = {}
        self._read: set[str] = set()
        self._there: set[str] = set()
        self._missed: set[str] = set()
        self._asked: set[tuple[str, ModuleQuery]] = set()
        self._searched: set[tuple[str, ModuleQuery]] = set()
        self._searches: set[ModuleSearch] = set()
        self._unimported: set[str] = set()

    def dependencies(self) -> Dependencies:
        """What was read and asked so far. A query to a file that was read besides adds nothing."""
        asked, searched = self._replies(self._asked), self._replies(self._searched)
        replies = frozenset(reply for reply in asked if reply.path not in self._read)
        found = frozenset(reply for reply in searched if reply.said and reply.path not in self._read)
        read, there, missed = map(_interned, (self._read, self._there, self._missed))
        return Dependencies(read, there, missed, replies, found, frozenset(self._searches), _interned(self._unimported))

    def _replies(self, asked: Iterable[tuple[str, ModuleQuery]]) -> list[QueryResult]:
        """What the files said; those that cannot be read, or not all of them, count as read."""
        replies = []
        for path, question in asked:
            said = self._library.fingerprint(path, question) if path not in self._read else None
            if said is None:
                self._read.add(path)
            else:
                replies.append(QueryResult(path, question, said))
        return replies

    def __getitem__(self, path: str) -> Module:
        found = self._modules.get(path)
        if found is not None:
            return found
        if path not in self._library.python:
            self._missed.add(last_name(path))
            raise KeyError(path)
        self._read.add(path)
        module = self._library.module(path)
        if module is None:
            raise KeyError(path)
        self._modules[path] = module
        return module

    def __contains__(self, path: object) -> bool:
        """Whether there is a Python file at `path`, which is not read for that."""
        if path in self._library.python:
            self._there.add(str(path))
            return True
        self._missed.add(last_name(str(path)))
        return False

    def __iter__(self) -> Iterator[str]:
        return iter(self._library.python)

    def __len__(self) -> int:
        return len(self._library.python)

    def source(self, path: str) -> bytes:
        """The bytes of the file at `path`, which is one of the scan's."""
        self._read.add(path)
        return self._library.python[path]

    def ask(self, query: QueryKind[Said], path: str, word: str = "") -> Said | None:
        """Return what the module at `path`, a file of the scan, says to `query` about `word`; None if unreadable."""
        question = ModuleQuery(query.kind, word)
        self._asked.add((path, question))
        return self._library.answer(path, query, word)

    def search(
        self,
        query: QueryKind[Said],
        word: str,
        *,
        name: str,
        home: str = "",
        member: str | None = None,
        but: Container[str] = (),
    ) -> Iterator[tuple[str, Said]]:
        """Ask the modules that may name what `home` defines as `name`, by path, `but` those of some tests.

        Yields the paths of those that have something to say, with what they say. Where `member` is given, only modules
        that have `something.member` are asked. Without a `home`, they import a module called `name`, which is
        no file of the scan, and have `name.member`.
        """
        words, paths = self._library.import_index.naming(name, home, member)
        question = ModuleQuery(query.kind, word)
        self._searches.add(ModuleSearch(name, home, words, member, question, but == ()))
        if query.marks:
            paths = self._library.import_index.marked(query.marks, paths)
        showing = paths if query.sign is None else self._library.import_index.showing(query.sign(word), paths)
        for path in paths:
            if path in showing and path not in but:
                self._searched.add((path, question))
                said = self._library.answer(path, query, word)
                if said:
                    yield path, said

    def importers(self, name: str, signs: Iterable[TextPattern] | None = None) -> Sequence[str]:
        """The files, by path, that import a module called `name`, or something of it; files without Triton too.

        Where `signs` are given, only packages, files that show one of these, and files that take all of some module.
        The answer depends on that no other file imports it. It reads none.
        """
        self._unimported.add(name)
        found = self._library.importers(name)
        return found if signs is None else self._library.handling(found, signs)

    def bystanders(self, name: str, sign: TextPattern, *, member: str | None = None) -> Sequence[str]:
        """The files without Triton, by path, that import a module called `name`, or something of it, and show `sign`.

        Where `member` is given, those that say `name.member`, which no file can that does not import `name`. The answer
        depends on that no other file imports it. It reads none.
        """
        self._unimported.add(name)
        found = self._library.bystanders(name if member is None else f"{name}.{member}")
        showing = self._library.import_index.showing(sign, found)
        return [path for path in found if path in showing]


def _interned(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(intern, words))

"""The modules of a scan as one question sees them: read when asked for, and kept as what the answer rests on."""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import TYPE_CHECKING

from triton_doctor.static.project.dependencies import Dependencies, ModuleSearch, QueryResult
from triton_doctor.static.project.import_index import last_name

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from triton_doctor.static.project.database import Database
    from triton_doctor.static.project.dependencies import ModuleQuery
    from triton_doctor.static.python.module import Module
    from triton_doctor.static.sources.text_patterns import TextPattern


class TrackedModules(Mapping[str, "Module"]):
    """The Python files of `library` by path, for one question."""

    def __init__(self, library: Database) -> None:
        """Nothing is asked yet."""
        self._library = library
        self._consulted: set[str] = set()
        self._there: set[str] = set()
        self._missed: set[str] = set()
        self._asked: set[tuple[str, ModuleQuery]] = set()
        self._searched: set[tuple[str, ModuleQuery]] = set()
        self._searches: set[ModuleSearch] = set()
        self._unimported: set[str] = set()

    def rests(self) -> Dependencies:
        """What was asked so far. A question to a file that was consulted besides adds nothing."""
        asked, searched = self._replies(self._asked), self._replies(self._searched)
        replies = frozenset(reply for reply in asked if reply.path not in self._consulted)
        found = frozenset(reply for reply in searched if reply.said and reply.path not in self._consulted)
        consulted, there, missed = map(_interned, (self._consulted, self._there, self._missed))
        return Dependencies(
            consulted, there, missed, replies, found, frozenset(self._searches), _interned(self._unimported)
        )

    def _replies(self, asked: Iterable[tuple[str, ModuleQuery]]) -> list[QueryResult]:
        """What the files said; those that cannot be read, or not all of them, count as consulted."""
        replies = []
        for path, question in asked:
            said = self._library.ask(path, question) if path not in self._consulted else None
            if said is None:
                self.consult(path)
            else:
                replies.append(QueryResult(path, question, said))
        return replies

    def __getitem__(self, path: str) -> Module:
        module = self.glimpse(path)
        if module is None:
            raise KeyError(path)
        self.consult(path)
        return module

    def __iter__(self) -> Iterator[str]:
        return iter(self._library.python)

    def __len__(self) -> int:
        return len(self._library.python)

    def source(self, path: str) -> bytes:
        """The bytes of the file at `path`, which is one of the scan's."""
        self.consult(path)
        return self._library.python[path]

    def has(self, path: str) -> bool:
        """Whether there is a Python file at `path`, which is not read for that."""
        if path in self._library.python:
            self._there.add(path)
            return True
        self._missed.add(last_name(path))
        return False

    def glimpse(self, path: str) -> Module | None:
        """The module at `path`, if there is one. Who takes it tells by `ask` what for, or consults it."""
        if path not in self._library.python:
            self._missed.add(last_name(path))
            return None
        module = self._library.module(path)
        if module is None:
            self.consult(path)
        return module

    def importing(self, name: str) -> Iterator[Module]:
        """The modules that import one called `name`, or something of it; those that do not name Triton too.

        The answer rests on that no other does. Who makes something of one consults it.
        """
        self._unimported.add(name)
        found = map(self.glimpse, self._library.importing(name, self._library.python))
        return (module for module in found if module is not None)

    def consult(self, path: str) -> None:
        """The answer rests on all of the file at `path`."""
        self._consulted.add(path)

    def ask(self, path: str, question: ModuleQuery) -> None:
        """The answer rests on what the file at `path` says to `question`; on no more, unless it is consulted too."""
        self._asked.add((path, question))

    def naming(
        self,
        name: str,
        home: str,
        question: ModuleQuery,
        sign: TextPattern | None = None,
        *,
        member: str | None = None,
        but: Container[str] = (),
    ) -> Iterator[Module]:
        """The modules that may name what `home` defines as `name`, by path, `but` those of some tests.

        Only those that say `something.member`, and in which `sign` stands, where these are given: others would say
        nothing to `question`. It is all that the answer rests on, unless they are consulted.
        """
        words, paths = self._library.naming(name, home, member)
        self._searches.add(ModuleSearch(name, home, words, member, question, but == ()))
        found = paths if sign is None else self._library.showing(sign, paths)
        for path in paths:
            module = self.glimpse(path) if path in found and path not in but else None
            if module is not None:
                self._searched.add((path, question))
                yield module


def _interned(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(intern, words))

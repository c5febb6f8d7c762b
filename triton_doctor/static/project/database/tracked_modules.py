"""The modules of a scan as one analysis sees them: everything it reads is recorded as a dependency.

Reading or querying a module depends on the whole file. `path in modules` depends only on whether the file exists. A
search depends on the files with an answer, and on no other file having one.
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import TYPE_CHECKING

from triton_doctor.static.project.database.dependencies import (
    Answer,
    Dependencies,
    ModuleQuery,
    ModuleSearch,
)
from triton_doctor.static.project.database.import_index import last_name

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from triton_doctor.static.project.database.database import Database
    from triton_doctor.static.project.database.dependencies import QueryKind
    from triton_doctor.static.python.module import Module
    from triton_doctor.static.sources.source_text import TextPattern


class TrackedModules(Mapping[str, "Module"]):
    """The Python files of `database` by path, for one analysis."""

    def __init__(self, database: Database) -> None:
        """Start without dependencies."""
        self._database = database
        self._modules: dict[str, Module] = {}
        self._read: set[str] = set()
        self._existing: set[str] = set()
        self._missing: set[str] = set()
        self._searches: set[ModuleSearch] = set()
        self._unimported: set[str] = set()

    def dependencies(self) -> Dependencies:
        """Return the dependencies so far."""
        read, existing, missing = map(_interned, (self._read, self._existing, self._missing))
        return Dependencies(read, existing, missing, frozenset(self._searches), _interned(self._unimported))

    def __getitem__(self, path: str) -> Module:
        found = self._modules.get(path)
        if found is not None:
            return found
        if path not in self._database.python:
            self._missing.add(last_name(path))
            raise KeyError(path)
        self._read.add(path)
        module = self._database.module(path)
        if module is None:
            raise KeyError(path)
        self._modules[path] = module
        return module

    def __contains__(self, path: object) -> bool:
        """Return whether there is a Python file at `path`, without reading it."""
        if path in self._database.python:
            self._existing.add(str(path))
            return True
        self._missing.add(last_name(str(path)))
        return False

    def __iter__(self) -> Iterator[str]:
        return iter(self._database.python)

    def __len__(self) -> int:
        return len(self._database.python)

    def source(self, path: str) -> bytes:
        """Return the bytes of the file at `path`, which must be part of the scan."""
        self._read.add(path)
        return self._database.python[path]

    def query(self, query: QueryKind[Answer], path: str, word: str = "") -> Answer | None:
        """Return the answer of the module at `path` to `query` about `word`; None if it cannot be read."""
        self._read.add(path)
        return self._database.query(path, query, word)

    def search(
        self,
        query: QueryKind[Answer],
        word: str,
        *,
        name: str,
        home: str = "",
        member: str | None = None,
        skip: Container[str] = (),
    ) -> Iterator[tuple[str, Answer]]:
        """Query the modules that may name the definition `name` of `home`, by path, without those in `skip`.

        `skip` holds test modules. Yields the path and the answer of each module whose answer is not empty. If `member`
        is given, only modules that contain `something.member` are queried. Without `home`, `name` is a module outside
        the scan, and modules must import it and contain `name.member`.
        """
        words, paths = self._database.import_index.files_naming(name, home, member)
        module_query = ModuleQuery(query.kind, word)
        self._searches.add(ModuleSearch(name, home, words, member, module_query, skip == ()))
        if query.marks:
            paths = self._database.import_index.marked(query.marks, paths)
        matching = paths if query.pattern is None else self._database.import_index.matching(query.pattern(word), paths)
        for path in paths:
            if path in matching and path not in skip:
                answer = self._database.query(path, query, word)
                if self._database.answers(path, module_query):
                    self._read.add(path)
                if answer:
                    yield path, answer

    def source_roots(self) -> Sequence[str]:
        """Return the folders from which packages are installed. Depends on no file called `setup.py` appearing."""
        self._missing.add("setup")
        return self._database.source_roots

    def importers(self, name: str, patterns: Iterable[TextPattern] | None = None) -> Sequence[str]:
        """Return the files that import a module called `name`, or something from it, including files without Triton.

        With `patterns`, only packages, files that match one of them, and files with a star import. Reads none of them.
        The result depends on no other file importing it.
        """
        self._unimported.add(name)
        found = self._database.importers(name)
        return found if patterns is None else self._database.possible_users(found, patterns)

    def bystander_importers(self, name: str, pattern: TextPattern, *, member: str | None = None) -> Sequence[str]:
        """Return the bystanders that import a module called `name`, or something from it, and match `pattern`.

        If `member` is given, only those that contain `name.member`. Reads none of them. The result depends on no other
        file importing it.
        """
        self._unimported.add(name)
        found = self._database.bystander_importers(name if member is None else f"{name}.{member}")
        matching = self._database.import_index.matching(pattern, found)
        return [path for path in found if path in matching]


def _interned(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(intern, words))

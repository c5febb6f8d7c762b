"""The files of a scan.

All are searched as bytes; a file is parsed only if it can matter or if something refers to it.
"""

from __future__ import annotations

import posixpath
import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from triton_doctor.nesting import with_own_stack
from triton_doctor.regular_files import TooLargeError
from triton_doctor.static.environment.read_file import may_matter, read_settings
from triton_doctor.static.environment.read_python import python_may_set, read_module_that_sets, read_setter
from triton_doctor.static.project.database.dependencies import QUERIES, Answer
from triton_doctor.static.project.database.import_index import ImportIndex, paths_by_import
from triton_doctor.static.project.database.roles import (
    FileFacts,
    Role,
    imported_sources,
    imported_words,
    role_of,
    subscripted_members,
    takes_all,
)
from triton_doctor.static.python.function import calls_subscript
from triton_doctor.static.python.kernels import may_define_kernels
from triton_doctor.static.python.parse import read_from_outline, read_module
from triton_doctor.static.python.unreadable import explain_unreadable, newer_syntax
from triton_doctor.static.sources.contents import NO_STAMPS, FileContents, FileStamps
from triton_doctor.static.sources.directives import read_hash_directives, read_python_directives
from triton_doctor.static.sources.files import FileKind
from triton_doctor.static.sources.spellings import computed_words

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from triton_doctor.finding import Finding
    from triton_doctor.static.environment.setting import EnvironmentFile
    from triton_doctor.static.project.database.dependencies import ModuleQuery, QueryKind
    from triton_doctor.static.python.module import Module
    from triton_doctor.static.sources.directives import Directive
    from triton_doctor.static.sources.files import SourceFile
    from triton_doctor.static.sources.source_text import TextPattern


Read = TypeVar("Read")

# Strings of one line. Longer ones may contain a kernel.
_STRING = re.compile(rb"(?<![\"'])(\"|')(?!\1)(?:\\.|(?!\1)[^\\\n])*\1")


class Database:
    """Reads `files`, by path as findings spell it.

    `python` and `settings` hold the bytes of readable files, `unopened` a TRD900 for each other file. `known` caches
    text facts, `kept` parsed modules. An earlier scan parsed the files in `parsed`.
    """

    def __init__(self, files: Iterable[SourceFile], seen: FileStamps = NO_STAMPS) -> None:
        """Add all `files`; `seen` are their stamps at the last scan."""
        self.python = FileContents(seen)
        self.settings = FileContents(seen)
        self.unopened: dict[str, Finding] = {}
        self.known = FileFacts({}, {}, {}, {}, {}, {}, {})
        self.kept = KeptModules()
        self.parsed: Container[str] = ()
        # Some files are parsed only to check an earlier answer: their errors are not reported.
        self._unparsed: dict[str, Finding] = {}
        self._modules: dict[str, Module | None] = {}
        self._environments: dict[str, EnvironmentFile | None] = {}
        self._answers: dict[tuple[str, str, str], object] = {}
        self._bystanders_by_name: dict[str, tuple[str, ...]] = {}
        for file in files:
            try:
                (self.settings if file.kind is FileKind.SETTINGS else self.python).add(file)
            except OSError as error:
                self.unopened[file.shown] = explain_unreadable(file.shown, error)

    def source_of(self, path: str) -> bytes | None:
        """Return the bytes of the file at `path` that findings refer to; None if changed since or unreadable."""
        texts = self.python if path in self.python else self.settings
        return texts.as_scanned(path) if path in texts else b""

    def seen(self) -> FileStamps:
        """Return the stamps of all files, for the next scan."""
        python, settings = self.python.seen(), self.settings.seen()
        return FileStamps({**python.digests, **settings.digests}, {**python.statuses, **settings.statuses})

    @cached_property
    def roles(self) -> Mapping[str, Role]:
        """The role of each Python file."""
        return {path: self.role(path) for path in self.python}

    def role(self, path: str) -> Role:
        """Return the role of the Python file at `path`."""
        return self._fact(self.known.roles, path, role_of)

    @cached_property
    def source_roots(self) -> Sequence[str]:
        """The folders below the top one from which packages are installed: those with a `setup.py`, and `src`."""
        projects = {posixpath.dirname(path) for path in self.python if posixpath.basename(path) == "setup.py"} | {""}
        in_sources = [path for path in self.python if "src/" in path]
        sources = (posixpath.join(project, "src") for project in projects)
        found = (source for source in sources if any(path.startswith(f"{source}/") for path in in_sources))
        return sorted({*found, *projects} - {""})

    @property
    def idle(self) -> int:
        """The number of files that are not searched for anything."""
        return len(self.python) + len(self.settings) - len(self.subjects())

    def subjects(self) -> list[str]:
        """Return the paths, sorted, of files that may hold what a check reports on."""
        working = (Role.SUBJECT, Role.SETTER)
        return sorted([*(path for path, role in self.roles.items() if role in working), *self._setting])

    def is_code(self, path: str) -> bool:
        """Return whether the file at `path` may hold kernels or launches."""
        role = self.roles.get(path)
        return role is Role.SUBJECT or (role is not None and calls_subscript(self.python[path].__contains__))

    def launchers(self, kernels: Iterable[tuple[str, str]]) -> list[str]:
        """Return the files, beside those that are checked, that may launch one of `kernels`: (module, kernel name)."""
        names = {name for _, name in kernels}
        homes = {home for home, _ in kernels}
        found = []
        for path, role in self.roles.items():
            if role is Role.LAUNCHER:
                words = self.imported_words(path)
                by_module = (not words.isdisjoint(homes) or takes_all(self.python[path])) and not self._members(
                    path
                ).isdisjoint(names)
                if by_module or not words.isdisjoint(names):
                    found.append(path)
        return sorted(found)

    def module(self, path: str) -> Module | None:
        """Return the module at `path`; None if it is no Python file of the scan or cannot be read."""
        if path not in self._modules:
            self._modules[path] = self._module(path) if path in self.python else None
        return self._modules[path]

    def _module(self, path: str) -> Module | None:
        """Read the module at `path`, together with its settings unless an earlier scan read these."""
        read = self.kept.find(path, self.python[path]) or self._read(path)
        self.kept.keep(path, read)
        if read.environment is not None:
            self._environments[path] = read.environment
        return read.module

    def _read(self, path: str) -> ReadModule:
        in_full, text = self._is_read_in_full(path), self.python[path]
        if in_full and python_may_set(text):
            return ReadModule(text, *(self._parsed(path, read_module_that_sets, self.python) or (None, None)))
        read = read_module if in_full and path not in self.parsed else read_from_outline
        return ReadModule(text, self._parsed(path, read, self.python), None)

    def _is_read_in_full(self, path: str) -> bool:
        """Return whether most of the file at `path` will be needed, or all of it for its settings."""
        role = self.roles.get(path)
        if role is Role.SUBJECT:
            return may_define_kernels(self.python[path]) or python_may_set(self.python[path])
        return role is Role.SETTER and self.is_code(path)

    def query(self, path: str, query: QueryKind[Answer], word: str) -> Answer | None:
        """Return the answer of the module at `path` to `query` about `word`; None if it cannot be read."""
        key = (path, query.kind, word)
        if key not in self._answers:
            module = self.module(path)
            self._answers[key] = query.read(module, word) if module is not None else None
        return self._answers[key]  # type: ignore[return-value]  # the kind names the query

    def answers(self, path: str, query: ModuleQuery) -> bool:
        """Return whether the file at `path` gives a non-empty answer to `query`, or cannot be read completely."""
        found: object = self.query(path, QUERIES[query.kind], query.word)
        module = self.module(path)
        return bool(found) or module is None or bool(module.unread)

    def environment(self, path: str) -> EnvironmentFile | None:
        """Return the settings of the file at `path`; None if it cannot set anything."""
        if path not in self._environments:
            self._environments[path] = self._environment(path)
        return self._environments[path]

    def directives(self) -> dict[str, tuple[Directive, ...]]:
        """The directives of each file, by path."""
        known = self.known.directives
        for texts, read in ((self.python, read_python_directives), (self.settings, read_hash_directives)):
            for path in texts:
                if path not in known:
                    known[path] = read(texts[path])
        return {path: found for path, found in known.items() if found}

    def filter_importers(self, name: str, paths: Iterable[str]) -> Iterator[str]:
        """Yield those of `paths` that import a module called `name`, or something from it."""
        return (path for path in paths if name in self._sources(path) or name in self.imported_words(path))

    def importers(self, name: str) -> Sequence[str]:
        """Return the Python files that import a module called `name`, or something from it."""
        return self._by_import.get(name, ())

    def bystander_importers(self, name: str) -> Sequence[str]:
        """Return the bystanders that import a module called `name`; a dotted `name` must also be in their text."""
        if name not in self._bystanders_by_name:
            paths = self.python if "." in name else self.importers(name)
            found = (path for path in paths if self.roles[path] is Role.BYSTANDER)
            saying = (path for path in found if "." not in name or name.encode() in self.python[path])
            self._bystanders_by_name[name] = tuple(saying)
        return self._bystanders_by_name[name]

    def possible_users(self, paths: Sequence[str], patterns: Iterable[TextPattern]) -> Sequence[str]:
        """Return those of `paths` that match one of `patterns`, are packages, or have a star import."""
        shown = frozenset[str]().union(*(self.import_index.matching(pattern, paths) for pattern in patterns))
        return [path for path in paths if path in shown or path.endswith("__init__.py") or takes_all(self.python[path])]

    def imported_words(self, path: str) -> frozenset[str]:
        """Return the names after `import` in the Python file at `path`."""
        return self._fact(self.known.words, path, imported_words)

    def computed_words(self, path: str) -> frozenset[str]:
        """Return the words that literals in the Python file at `path` may be joined to."""
        return self._fact(self.known.computed, path, computed_words)

    def _sources(self, path: str) -> frozenset[str]:
        return self._fact(self.known.sources, path, imported_sources)

    def _members(self, path: str) -> frozenset[str]:
        return self._fact(self.known.members, path, subscripted_members)

    def _fact(self, known: dict[str, Read], path: str, read: Callable[[bytes], Read]) -> Read:
        return known[path] if path in known else known.setdefault(path, read(self.python[path]))

    @cached_property
    def import_index(self) -> ImportIndex:
        """Return the index of imports, built on first use."""
        named = {path: self.imported_words(path) for path, role in self.roles.items() if role is not Role.BYSTANDER}
        return ImportIndex(self.python, named)

    @cached_property
    def _by_import(self) -> Mapping[str, Sequence[str]]:
        return paths_by_import(self.python, self._sources, self.imported_words)

    @cached_property
    def _setting(self) -> Sequence[str]:
        known = self.known.setting
        for path in self.settings.keys() - known.keys():
            known[path] = may_matter(self.settings[path])
        return [path for path in self.settings if known[path]]

    def _environment(self, path: str) -> EnvironmentFile | None:
        if path in self.settings:
            return self._parsed(path, read_settings, self.settings)
        if self._is_read_in_full(path):
            self.module(path)
            return self._environments.get(path)
        return self._parsed(path, read_setter, self.python) if self.roles.get(path) is Role.SETTER else None

    def unreadable_among(self, paths: Iterable[str]) -> Iterator[Finding]:
        """Yield the findings about those of `paths` that could not be read completely."""
        for path in sorted(paths):
            module = self._modules.get(path)
            if module is not None and module.unread:
                matters = [error for error in module.unread if self._matters(path, error)]
                if matters:
                    yield min((explain_unreadable(path, error) for error in matters), key=lambda finding: finding.span)
            elif path in self._unparsed:
                yield self._unparsed[path]
            elif path in self.unopened:
                yield self.unopened[path]

    def _matters(self, path: str, error: Exception) -> bool:
        """Return whether checks lose anything by `error`: not by newer syntax with kernels only in one-line strings."""
        if newer_syntax(error) is None:
            return True
        text = _STRING.sub(b"''", self.python[path]) if self.is_code(path) else b""
        return role_of(text) is Role.SUBJECT or calls_subscript(text.__contains__)

    def _parsed(self, path: str, read: Callable[[str, bytes], Read], texts: FileContents) -> Read | None:
        """Return the result of `read` for the file at `path`; None, and a TRD900, if it cannot be read."""
        try:
            return with_own_stack(read, path, texts[path])
        except (SyntaxError, ValueError, RecursionError, MemoryError, TooLargeError) as error:
            if texts is not self.python or self._matters(path, error):
                self._unparsed[path] = explain_unreadable(path, error)
            return None
        except Exception as error:
            error.add_note(f"it was reading {path}")
            raise


class ReadModule(NamedTuple):
    """The module read from `text`, None if unreadable, and its settings, if those were read with it."""

    text: bytes
    module: Module | None
    environment: EnvironmentFile | None


class KeptModules:
    """The `most` recently used modules, by path. A module depends on its text only."""

    def __init__(self, most: int = 0) -> None:
        """Start empty."""
        self._most = most
        self._read: dict[str, ReadModule] = {}

    def find(self, path: str, text: bytes) -> ReadModule | None:
        """Return the module of the file at `path` if it was read from `text`; None if it has to be read.

        A module with parts that failed to parse is read again, since the failing part may not be needed this time.
        """
        found = self._read.get(path)
        if found is None or found.text != text or found.module is None or found.module.unread:
            return None
        return found

    def keep(self, path: str, read: ReadModule) -> None:
        """Keep `read` for `path`, and drop the least recently used module if there are too many."""
        self._read.pop(path, None)
        self._read[path] = read
        if len(self._read) > self._most:
            del self._read[next(iter(self._read))]

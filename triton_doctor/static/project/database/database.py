"""The files of a scan: all are looked at as bytes, and parsed where they could matter or where something leads."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from triton_doctor.nesting import with_own_stack
from triton_doctor.regular_files import TooLargeError
from triton_doctor.static.environment.read_file import read_settings
from triton_doctor.static.environment.read_python import may_set, python_may_set, read_module_that_sets, read_setter
from triton_doctor.static.project.database.dependencies import QUERIES, Said, digest
from triton_doctor.static.project.database.import_index import ImportIndex, paths_by_import
from triton_doctor.static.project.database.kept_modules import KeptModules, ReadModule
from triton_doctor.static.project.database.roles import (
    FileFacts,
    Role,
    imported_sources,
    imported_words,
    role_of,
    subscripted_members,
    takes_all,
)
from triton_doctor.static.python.function_body import LAUNCH
from triton_doctor.static.python.kernels import may_define_kernels
from triton_doctor.static.python.parse import read_consulted, read_module
from triton_doctor.static.python.unreadable import explain_unreadable, newer_syntax
from triton_doctor.static.sources.contents import NO_STAMPS, FileContents, FileStamps
from triton_doctor.static.sources.directives import read_hash_directives, read_python_directives
from triton_doctor.static.sources.files import FileKind

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

# Not of several lines, which may stand around a kernel.
_STRING = re.compile(rb"(?<![\"'])(\"|')(?!\1)(?:\\.|(?!\1)[^\\\n])*\1")


class Database:
    """Reads `files`, by path as findings spell it.

    `python` and `settings` hold the bytes of those that could be read; `unopened` a TRD900 for each that could not.
    `known` grows by what the bytes alone tell, as somebody asks; `kept` by the modules that are read. A scan before has
    `parsed` these files as they are: now functions and kernels are read one by one.
    """

    def __init__(self, files: Iterable[SourceFile], seen: FileStamps = NO_STAMPS) -> None:
        """Look at all `files`, which some scan before may have `seen`."""
        self.python = FileContents(seen)
        self.settings = FileContents(seen)
        self.unopened: dict[str, Finding] = {}
        self.known = FileFacts({}, {}, {}, {}, {}, {}, {})
        self.kept = KeptModules()
        self.parsed: Container[str] = ()
        # Some are parsed only to confirm what an earlier scan was told: of those, nothing is reported.
        self._unparsed: dict[str, Finding] = {}
        self._modules: dict[str, Module | None] = {}
        self._environments: dict[str, EnvironmentFile | None] = {}
        self._answers: dict[tuple[str, str, str], object] = {}
        self._bystanders_by_name: dict[str, tuple[str, ...]] = {}
        self._fingerprints: dict[tuple[str, ModuleQuery], bytes | None] = {}
        for file in files:
            try:
                (self.settings if file.kind is FileKind.SETTINGS else self.python).add(file)
            except OSError as error:
                self.unopened[file.shown] = explain_unreadable(file.shown, error)

    def source_of(self, path: str) -> bytes | None:
        """The bytes of the file at `path` that findings are about; None where it has changed, none if not readable.

        What memory holds of a file is about these bytes too, though they are read only now.
        """
        texts = self.python if path in self.python else self.settings
        return texts.as_scanned(path) if path in texts else b""

    def seen(self) -> FileStamps:
        """The files as they are, for the next scan."""
        python, settings = self.python.seen(), self.settings.seen()
        return FileStamps({**python.digests, **settings.digests}, {**python.statuses, **settings.statuses})

    @cached_property
    def roles(self) -> Mapping[str, Role]:
        """What each Python file is read for."""
        return {path: self.role(path) for path in self.python}

    def role(self, path: str) -> Role:
        """What the Python file at `path` is read for."""
        return self._fact(self.known.roles, path, role_of)

    @property
    def idle(self) -> int:
        """The number of files that nothing is looked for in."""
        return len(self.python) + len(self.settings) - len(self.subjects())

    def subjects(self) -> list[str]:
        """The files that may hold what a check speaks of, by path."""
        working = (Role.SUBJECT, Role.SETTER)
        return sorted([*(path for path, role in self.roles.items() if role in working), *self._setting])

    def is_code(self, path: str) -> bool:
        """Whether the file at `path` may hold kernels or launches."""
        role = self.roles.get(path)
        return role is Role.SUBJECT or (role is not None and LAUNCH in self.python[path])

    def launchers(self, kernels: Iterable[tuple[str, str]]) -> list[str]:
        """The files, but for the subjects, that may launch one of `kernels`, by path.

        Each of `kernels` is the last name of its module, and its own.
        """
        names = {name for _, name in kernels}
        homes = {home for home, _ in kernels}
        found = []
        for path, role in self.roles.items():
            if role is Role.LAUNCHER:
                words = self.words(path)
                by_module = (not words.isdisjoint(homes) or takes_all(self.python[path])) and not self._members(
                    path
                ).isdisjoint(names)
                if by_module or not words.isdisjoint(names):
                    found.append(path)
        return sorted(found)

    def module(self, path: str) -> Module | None:
        """The module at `path`; None where it is no Python file of the scan, or cannot be read."""
        if path not in self._modules:
            self._modules[path] = self._module(path) if path in self.python else None
        return self._modules[path]

    def _module(self, path: str) -> Module | None:
        """Read the module at `path`, and with it what it sets, unless an earlier scan did."""
        read = self.kept.find(path, self.python[path]) or self._read(path)
        self.kept.keep(path, read)
        if read.environment is not None:
            self._environments[path] = read.environment
        return read.module

    def _read(self, path: str) -> ReadModule:
        in_full, text = self._is_read_in_full(path), self.python[path]
        if in_full and python_may_set(text):
            return ReadModule(text, *(self._parsed(path, read_module_that_sets, self.python) or (None, None)))
        read = read_module if in_full and path not in self.parsed else read_consulted
        return ReadModule(text, self._parsed(path, read, self.python), None)

    def _is_read_in_full(self, path: str) -> bool:
        """Whether most of the file at `path` will be asked for, or all of it tells what it sets."""
        role = self.roles.get(path)
        if role is Role.SUBJECT:
            return may_define_kernels(self.python[path]) or python_may_set(self.python[path])
        return role is Role.SETTER and self.is_code(path)

    def answer(self, path: str, query: QueryKind[Said], word: str) -> Said | None:
        """What the module at `path` says to `query` about `word`; None where it cannot be read."""
        key = (path, query.kind, word)
        if key not in self._answers:
            module = self.module(path)
            self._answers[key] = query.read(module, word) if module is not None else None
        return self._answers[key]  # type: ignore[return-value]  # the kind names the query

    def fingerprint(self, path: str, question: ModuleQuery) -> bytes | None:
        """What tells the answer to `question` from any other; None where the file cannot be read, or not all of it."""
        key = (path, question)
        if key not in self._fingerprints:
            said = digest(self.answer(path, QUERIES[question.kind], question.word))
            module = self.module(path)
            self._fingerprints[key] = None if module is None or module.unread else said
        return self._fingerprints[key]

    def environment(self, path: str) -> EnvironmentFile | None:
        """What the file at `path` sets; None where it can set nothing."""
        if path not in self._environments:
            self._environments[path] = self._environment(path)
        return self._environments[path]

    def directives(self) -> dict[str, tuple[Directive, ...]]:
        """The comments to the doctor, by path."""
        known = self.known.directives
        for texts, read in ((self.python, read_python_directives), (self.settings, read_hash_directives)):
            for path in texts:
                if path not in known:
                    known[path] = read(texts[path])
        return {path: found for path, found in known.items() if found}

    def importing(self, name: str, paths: Iterable[str]) -> Iterator[str]:
        """Those of `paths` that import a module called `name`, or something of it."""
        return (path for path in paths if name in self._sources(path) or name in self.words(path))

    def importers(self, name: str) -> Sequence[str]:
        """The Python files that import a module called `name`, or something of it."""
        return self._by_import.get(name, ())

    def bystanders(self, name: str) -> Sequence[str]:
        """The bystanders that import a module called `name`, or something of it; that say it where it has a dot."""
        if name not in self._bystanders_by_name:
            paths = self.python if "." in name else self.importers(name)
            found = (path for path in paths if self.roles[path] is Role.BYSTANDER)
            saying = (path for path in found if "." not in name or name.encode() in self.python[path])
            self._bystanders_by_name[name] = tuple(saying)
        return self._bystanders_by_name[name]

    def handling(self, paths: Sequence[str], signs: Iterable[TextPattern]) -> Sequence[str]:
        """Those of `paths` that show one of `signs`, are packages, or take all names of some module."""
        shown = frozenset[str]().union(*(self.import_index.showing(sign, paths) for sign in signs))
        return [path for path in paths if path in shown or path.endswith("__init__.py") or takes_all(self.python[path])]

    def words(self, path: str) -> frozenset[str]:
        """The names that stand after an `import` in the Python file at `path`."""
        return self._fact(self.known.words, path, imported_words)

    def _sources(self, path: str) -> frozenset[str]:
        return self._fact(self.known.sources, path, imported_sources)

    def _members(self, path: str) -> frozenset[str]:
        return self._fact(self.known.members, path, subscripted_members)

    def _fact(self, known: dict[str, Read], path: str, read: Callable[[bytes], Read]) -> Read:
        return known[path] if path in known else known.setdefault(path, read(self.python[path]))

    @cached_property
    def import_index(self) -> ImportIndex:
        """Who may name what; all imports are looked through when it is first asked."""
        named = {path: self.words(path) for path, role in self.roles.items() if role is not Role.BYSTANDER}
        return ImportIndex(self.python, named)

    @cached_property
    def _by_import(self) -> Mapping[str, Sequence[str]]:
        return paths_by_import(self.python, self._sources, self.words)

    @cached_property
    def _setting(self) -> Sequence[str]:
        known = self.known.setting
        for path in self.settings.keys() - known.keys():
            known[path] = may_set(self.settings[path])
        return [path for path in self.settings if known[path]]

    def _environment(self, path: str) -> EnvironmentFile | None:
        if path in self.settings:
            return self._parsed(path, read_settings, self.settings)
        if self._is_read_in_full(path):
            self.module(path)
            return self._environments.get(path)
        return self._parsed(path, read_setter, self.python) if self.roles.get(path) is Role.SETTER else None

    def unreadable_among(self, paths: Iterable[str]) -> Iterator[Finding]:
        """The findings of those of `paths` that could not be read, or not all of them."""
        for path in sorted(paths):
            module = self._modules.get(path)
            if module is not None and module.unread:
                matters = [error for error in module.unread if self._matters(path, error)]
                if matters:
                    yield min((explain_unreadable(path, error) for error in matters), key=lambda one: one.span)
            elif path in self._unparsed:
                yield self._unparsed[path]
            elif path in self.unopened:
                yield self.unopened[path]

    def _matters(self, path: str, error: Exception) -> bool:
        """Whether the checks lose something by the text in a Python file that `error` is about.

        They lose nothing by a file in newer syntax that has no kernel and no launch but in strings of one line.
        """
        if newer_syntax(error) is None:
            return True
        text = _STRING.sub(b"''", self.python[path]) if self.is_code(path) else b""
        return role_of(text) is Role.SUBJECT or LAUNCH in text

    def _parsed(self, path: str, read: Callable[[str, bytes], Read], texts: FileContents) -> Read | None:
        """What `read` makes of the file at `path`; None, and a TRD900, where it cannot be read."""
        try:
            return with_own_stack(read, path, texts[path])
        except (SyntaxError, ValueError, RecursionError, MemoryError, TooLargeError) as error:
            if texts is not self.python or self._matters(path, error):
                self._unparsed[path] = explain_unreadable(path, error)
            return None
        except Exception as error:
            error.add_note(f"it was reading {path}")
            raise

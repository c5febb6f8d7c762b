"""The files of a scan: all are looked at as bytes, and parsed where they could matter or where something leads."""

from __future__ import annotations

import os
import stat
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

from triton_doctor.static.directives import read_hash_directives, read_python_directives
from triton_doctor.static.files import Kind
from triton_doctor.static.importers import Importers
from triton_doctor.static.prefilter import LAUNCH, Role, imported_words, role_of, subscripted_members
from triton_doctor.static.read import read_consulted, read_module, read_setter
from triton_doctor.static.read_environment import may_set
from triton_doctor.static.read_settings import read_settings
from triton_doctor.static.unreadable import LIMIT_BYTES, TooLargeError, explain_unreadable

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from triton_doctor.finding import Finding
    from triton_doctor.static.directives import Directive
    from triton_doctor.static.files import SourceFile
    from triton_doctor.static.importers import Naming
    from triton_doctor.static.model import Module
    from triton_doctor.static.model_environment import EnvironmentFile
    from triton_doctor.static.signs import Sign

Read = TypeVar("Read")


class Library:
    """Reads `files`, by path as findings spell it.

    `python` and `settings` hold the bytes of those that could be read; `unreadable` a TRD900 for each that could not,
    or that was parsed and did not parse. `known_words` are those of `words` that were asked for.
    """

    def __init__(self, files: Sequence[SourceFile], on_progress: Callable[[int], None] = lambda done: None) -> None:
        """Look at all `files`. `on_progress` gets the number of those done so far."""
        self.python: dict[str, bytes] = {}
        self.settings: dict[str, bytes] = {}
        self.unreadable: dict[str, Finding] = {}
        self._modules: dict[str, Module | None] = {}
        self._environments: dict[str, EnvironmentFile | None] = {}
        self.known_words: dict[str, frozenset[str]] = {}
        self._recalled_roles: dict[str, Role] = {}
        for done, file in enumerate(files, start=1):
            try:
                data = read_bytes(file)
            except (OSError, TooLargeError) as error:
                self.unreadable[file.shown] = explain_unreadable(file.shown, error)
            else:
                (self.settings if file.kind is Kind.SETTINGS else self.python)[file.shown] = data
            on_progress(done)

    def recall(self, path: str, role: Role, words: frozenset[str] | None) -> None:
        """Take over what is known of the Python file at `path`; `words` None where nobody asked for them."""
        self._recalled_roles[path] = role
        if words is not None:
            self.known_words[path] = words

    @cached_property
    def digests(self) -> Mapping[str, bytes]:
        """Of each file that could be read, what tells its content from any other."""
        every = (*self.python.items(), *self.settings.items())
        return {path: blake2b(data, digest_size=16).digest() for path, data in every}

    @cached_property
    def roles(self) -> Mapping[str, Role]:
        """What each Python file is read for."""
        return {path: self._recalled_roles.get(path) or role_of(data) for path, data in self.python.items()}

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
                by_module = not words.isdisjoint(homes) and not subscripted_members(self.python[path]).isdisjoint(names)
                if by_module or not words.isdisjoint(names):
                    found.append(path)
        return sorted(found)

    def module(self, path: str) -> Module | None:
        """The module at `path`; None where it is no Python file of the scan, or cannot be read."""
        if path not in self._modules:
            read = read_module if self._is_read_in_full(path) else read_consulted
            self._modules[path] = self._parsed(path, read) if path in self.python else None
        return self._modules[path]

    def _is_read_in_full(self, path: str) -> bool:
        role = self.roles.get(path)
        return role is Role.SUBJECT or (role is Role.SETTER and self.is_code(path))

    def environment(self, path: str) -> EnvironmentFile | None:
        """What the file at `path` sets; None where it can set nothing."""
        if path not in self._environments:
            self._environments[path] = self._environment(path)
        return self._environments[path]

    def directives(self) -> dict[str, tuple[Directive, ...]]:
        """The comments to the doctor, by path."""
        python = {path: read_python_directives(data) for path, data in self.python.items()}
        others = {path: read_hash_directives(data) for path, data in self.settings.items()}
        return {path: found for path, found in {**python, **others}.items() if found}

    def naming(self, name: str, home: str, text: str) -> Naming:
        """The files that hold `text` and may name what `home` defines as `name`."""
        return self._importers.naming(name, home, text)

    def showing(self, sign: Sign, paths: Sequence[str]) -> frozenset[str]:
        """Those of `paths` in whose text `sign` stands."""
        return self._importers.showing(sign, paths)

    def index(self) -> None:
        """Look through all imports now, rather than when somebody first asks who imports what."""
        _ = self._importers

    def words(self, path: str) -> frozenset[str]:
        """The names that stand after an `import` in the Python file at `path`."""
        if path not in self.known_words:
            self.known_words[path] = imported_words(self.python[path])
        return self.known_words[path]

    @cached_property
    def _importers(self) -> Importers:
        named = (path for path, role in self.roles.items() if role is not Role.BYSTANDER)
        return Importers(self.python, {path: self.words(path) for path in named})

    @cached_property
    def _setting(self) -> Sequence[str]:
        return [path for path, data in self.settings.items() if may_set(data)]

    def _environment(self, path: str) -> EnvironmentFile | None:
        if path in self.settings:
            return read_settings(path, self.settings[path])
        if self._is_read_in_full(path):
            module = self.module(path)
            return module.environment if module is not None else None
        return self._parsed(path, read_setter) if self.roles.get(path) is Role.SETTER else None

    def unreadable_among(self, paths: Iterable[str]) -> Iterator[Finding]:
        """The findings of those of `paths` that could not be read, or not all of them."""
        for path in sorted(paths):
            module = self._modules.get(path)
            if module is not None and module.unread:
                yield explain_unreadable(path, module.unread[0])
            elif path in self.unreadable:
                yield self.unreadable[path]

    def _parsed(self, path: str, read: Callable[[str, bytes], Read]) -> Read | None:
        try:
            return read(path, self.python[path])
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.unreadable[path] = explain_unreadable(path, error)
            return None
        except Exception as error:
            error.add_note(f"it was reading {path}")
            raise


def read_bytes(file: SourceFile) -> bytes:
    """The bytes of `file`. Raises OSError, and TooLargeError."""
    if file.text is not None:
        return file.text
    with file.path.open("rb", buffering=0) as stream:
        status = os.fstat(stream.fileno())
        whole = stat.S_ISREG(status.st_mode) and status.st_size <= LIMIT_BYTES
        data = stream.readall() if whole else _first(stream, LIMIT_BYTES + 1)
    if len(data) > LIMIT_BYTES:
        raise TooLargeError
    return data


def _first(stream: io.FileIO, size: int) -> bytes:
    """The first `size` bytes: what is no file gives them in pieces."""
    data = b""
    while len(data) < size and (piece := stream.read(size - len(data))):
        data += piece
    return data

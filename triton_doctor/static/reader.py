"""Files to modules: each is read once, as bytes, and parsed where it could matter or where a module imports it."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from triton_doctor.static.directives import read_hash_directives, read_python_directives
from triton_doctor.static.files import Kind
from triton_doctor.static.prefilter import may_matter
from triton_doctor.static.read import read_module
from triton_doctor.static.read_settings import read_settings
from triton_doctor.static.unreadable import LIMIT_BYTES, TooLargeError, explain_unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from triton_doctor.finding import Finding
    from triton_doctor.static.directives import Directive
    from triton_doctor.static.files import SourceFile
    from triton_doctor.static.model import Module
    from triton_doctor.static.model_environment import EnvironmentFile


class Reader:
    """Reads `files`, and keeps what reading them yields beside modules.

    `directives` is by path, as findings spell it; `unreadable` a TRD900 for each file that could not be read;
    `environment` the files other than Python that set variables.
    """

    def __init__(self, files: Sequence[SourceFile]) -> None:
        self.files = files
        self._passed_over: dict[str, SourceFile] = {}
        self.directives: dict[str, tuple[Directive, ...]] = {}
        self.unreadable: list[Finding] = []
        self.environment: list[EnvironmentFile] = []
        self.files_read = 0

    def read_all(self, on_progress: Callable[[int], None]) -> list[Module]:
        """The modules of all files that could matter. `on_progress` gets the number of files done so far."""
        return list(self._modules(on_progress))

    def read_further(self, path: str) -> Module | None:
        """The module at `path`, one of the files that did not seem to matter; None where it is none of them."""
        file = self._passed_over.pop(path, None)
        data = self._bytes(file) if file else None
        return self._module(file, data) if file and data is not None else None

    def _modules(self, on_progress: Callable[[int], None]) -> Iterator[Module]:
        for done, file in enumerate(self.files, start=1):
            data = self._bytes(file)
            if data is not None and file.kind is Kind.SETTINGS:
                self._settings(file, data)
            elif data is not None and not may_matter(data):
                self._passed_over[file.shown] = file
            elif data is not None and (module := self._module(file, data)):
                yield module
            on_progress(done)

    def _bytes(self, file: SourceFile) -> bytes | None:
        try:
            return read_bytes(file)
        except (OSError, TooLargeError) as error:
            self.unreadable.append(explain_unreadable(file.shown, error))
            return None

    def _settings(self, file: SourceFile, data: bytes) -> None:
        environment = read_settings(file.shown, data)
        if environment is None:
            return
        self.files_read += 1
        self.environment.append(environment)
        if directives := read_hash_directives(data):
            self.directives[file.shown] = directives

    def _module(self, file: SourceFile, data: bytes) -> Module | None:
        self.files_read += 1
        try:
            module = read_module(file.shown, data)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.unreadable.append(explain_unreadable(file.shown, error))
            return None
        except Exception as error:
            error.add_note(f"it was reading {file.path}")
            raise
        if directives := read_python_directives(data):
            self.directives[file.shown] = directives
        return module


def read_bytes(file: SourceFile) -> bytes:
    """The bytes of `file`. Raises OSError, and TooLargeError."""
    if file.text is not None:
        return file.text
    with file.path.open("rb") as stream:
        status = os.fstat(stream.fileno())
        whole = stat.S_ISREG(status.st_mode) and status.st_size <= LIMIT_BYTES
        data = stream.read(-1 if whole else LIMIT_BYTES + 1)
    if len(data) > LIMIT_BYTES:
        raise TooLargeError
    return data

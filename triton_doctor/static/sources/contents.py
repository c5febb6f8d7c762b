"""Reads the bytes of files, lazily: a file whose status did not change since the last scan is read on first access."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from triton_doctor.regular_files import read_with_status
from triton_doctor.static.sources.notebooks import SUFFIX, read_notebook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.sources.files import SourceFile

# Size, mtime and ctime in ns, inode. No program can set the ctime.
Status: TypeAlias = tuple[int, int, int, int]

# A file that is written twice within one tick of a file system's clock has the same status both times. A tick of FAT is
# 2 s, others are shorter. git has the same problem and the same remedy (git's Documentation/technical/racy-git.txt).
_MARGIN_NS = 2_000_000_000
# On other systems the third number is the time of creation.
_HAS_TIME_OF_CHANGE = os.name == "posix"


class FileStamps(NamedTuple):
    """The state of the files at one scan, by path.

    `digests` identify contents. `statuses` hold what the file system reported, only for files whose next change is
    certain to change their status.
    """

    digests: Mapping[str, bytes]
    statuses: Mapping[str, Status]


NO_STAMPS = FileStamps({}, {})


class FileContents(Mapping[str, bytes]):
    """The bytes of files, by path as findings spell it.

    A file with the status recorded in `seen` is read on first access.
    """

    def __init__(self, seen: FileStamps) -> None:
        """Start without files; `add` adds one."""
        self._seen = seen
        self._began_ns = time.time_ns()
        self._files: dict[str, SourceFile] = {}
        self._texts: dict[str, bytes] = {}
        self._digests: dict[str, bytes] = {}
        self._statuses: dict[str, Status] = {}

    def add(self, file: SourceFile) -> None:
        """Add `file`. Reads it unless its status is unchanged. Raises OSError."""
        path = file.shown
        before = self._seen.statuses.get(path)
        if before is not None and file.text is None and _status(os.stat(file.name)) == before:  # noqa: PTH116, thousands
            self._digests[path] = self._seen.digests[path]
            self._statuses[path] = before
        else:
            self._texts[path], status = _read(file)
            if status is not None:
                self._statuses[path] = status
        self._files[path] = file

    def __getitem__(self, path: str) -> bytes:
        text = self._texts.get(path)
        return self._late(path) if text is None else text

    def as_scanned(self, path: str) -> bytes | None:
        """Return the bytes that this scan is about; None if the file had changed when it was read late."""
        text = self[path]
        return None if self._digests.get(path) == b"" else text

    def __contains__(self, path: object) -> bool:
        return path in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def size(self, path: str) -> int:
        """Return the number of bytes of the file at `path`."""
        return len(self._texts[path]) if path in self._texts else self._statuses[path][0]

    def read_all(self) -> None:
        """Read every file that was not read yet."""
        for path in self._files:
            _ = self[path]

    def seen(self) -> FileStamps:
        """Return the stamps of all files, for the next scan."""
        for path, text in self._texts.items():
            if path not in self._digests:
                self._digests[path] = content_digest(text)
        latest = self._began_ns - _MARGIN_NS
        return FileStamps(
            self._digests, {path: status for path, status in self._statuses.items() if max(status[1:3]) < latest}
        )

    def _late(self, path: str) -> bytes:
        """Read a file that was skipped at first.

        If it changed meanwhile, drop its digest, so that the next scan reads it.
        """
        try:
            text, status = _read(self._files[path])
        except OSError:
            text, status = b"", None
        if status != self._statuses[path]:
            self._digests[path] = b""
        self._texts[path] = text
        return text


def content_digest(text: bytes) -> bytes:
    """Return a hash that identifies the content `text`."""
    return blake2b(text, digest_size=16).digest()


def read_bytes(file: SourceFile) -> bytes:
    """Return the bytes of `file`; of a notebook, the Python program in it. Raises OSError."""
    return _read(file)[0]


def _read(file: SourceFile) -> tuple[bytes, Status | None]:
    """Return the bytes and the status before they were read; None for a status that cannot prove "unchanged" later."""
    if file.text is not None:
        return _as_program(file.name, file.text), None
    data, status = read_with_status(file.name)
    return _as_program(file.name, data), _status(status)


def _as_program(name: str, data: bytes) -> bytes:
    """Return the Python of the file called `name`: `data` itself, or the program of a notebook."""
    return read_notebook(data).program if name.endswith(SUFFIX) else data


def _status(of: os.stat_result) -> Status | None:
    if not _HAS_TIME_OF_CHANGE or not stat.S_ISREG(of.st_mode):
        return None
    return of.st_size, of.st_mtime_ns, of.st_ctime_ns, of.st_ino

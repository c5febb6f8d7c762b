"""Files to their bytes: a file that is as it was, by what the file system says of it, is read when it is asked for."""

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

# Size, times of the last change to the bytes and to the entry in ns, inode. No program can set the third.
Status: TypeAlias = tuple[int, int, int, int]

# A file that is written twice within one tick of a file system's clock has the same status both times. FAT's is 2 s,
# the others' less. git has the same trouble, and answers it likewise (git's Documentation/technical/racy-git.txt).
_MARGIN_NS = 2_000_000_000
# Elsewhere the third is the time at which the file was made.
_HAS_TIME_OF_CHANGE = os.name == "posix"


class FileStamps(NamedTuple):
    """Files as a scan saw them, by path: what tells the content from any other, and what the file system said.

    `statuses` are those of files whose next change, whatever it is, shows in their status.
    """

    digests: Mapping[str, bytes]
    statuses: Mapping[str, Status]


NO_STAMPS = FileStamps({}, {})


class FileContents(Mapping[str, bytes]):
    """The bytes of files, by path as findings spell it. Those whose status is the one in `seen` are not read yet."""

    def __init__(self, seen: FileStamps) -> None:
        """There is no file yet."""
        self._seen = seen
        self._began_ns = time.time_ns()
        self._files: dict[str, SourceFile] = {}
        self._texts: dict[str, bytes] = {}
        self._digests: dict[str, bytes] = {}
        self._statuses: dict[str, Status] = {}

    def add(self, file: SourceFile) -> None:
        """Look at `file`. Raises OSError."""
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
        """The text of the file at `path` that the scan knows; None where it turned out to be another when read late."""
        text = self[path]
        return None if self._digests.get(path) == b"" else text

    def __contains__(self, path: object) -> bool:
        return path in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def size(self, path: str) -> int:
        """How many bytes the file at `path` has."""
        return len(self._texts[path]) if path in self._texts else self._statuses[path][0]

    def read_all(self) -> None:
        """Read what was not read yet."""
        for path in self._files:
            _ = self[path]

    def seen(self) -> FileStamps:
        """The files as they are."""
        for path, text in self._texts.items():
            if path not in self._digests:
                self._digests[path] = content_digest(text)
        latest = self._began_ns - _MARGIN_NS
        return FileStamps(self._digests, {path: one for path, one in self._statuses.items() if max(one[1:3]) < latest})

    def _late(self, path: str) -> bytes:
        """The text of a file that was not read. One that changed since has no digest: the next scan is to read it."""
        try:
            text, status = _read(self._files[path])
        except OSError:
            text, status = b"", None
        if status != self._statuses[path]:
            self._digests[path] = b""
        self._texts[path] = text
        return text


def content_digest(text: bytes) -> bytes:
    """What tells `text` from any other content of a file."""
    return blake2b(text, digest_size=16).digest()


def read_bytes(file: SourceFile) -> bytes:
    """The bytes of `file`. Raises OSError."""
    return _read(file)[0]


def _read(file: SourceFile) -> tuple[bytes, Status | None]:
    """The bytes, and the status before they were read: None where it tells nothing."""
    if file.text is not None:
        return _as_program(file.name, file.text), None
    data, status = read_with_status(file.name)
    return _as_program(file.name, data), _status(status)


def _as_program(name: str, data: bytes) -> bytes:
    """The Python in the file called `name`: all of it, but for a notebook."""
    return read_notebook(data).program if name.endswith(SUFFIX) else data


def _status(of: os.stat_result) -> Status | None:
    if not _HAS_TIME_OF_CHANGE or not stat.S_ISREG(of.st_mode):
        return None
    return of.st_size, of.st_mtime_ns, of.st_ctime_ns, of.st_ino

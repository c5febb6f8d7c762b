"""Writes edited files atomically, except files that changed since they were read."""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.regular_files import read_regular_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path


class Edited(NamedTuple):
    """A file before and after editing."""

    path: Path
    before: bytes
    after: bytes


def write_all(files: Mapping[str, Edited], together: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Write `files`. Return those skipped, because they or files of the same fix had changed.

    `together` are the files of each fix, which are written all or not at all. Raises OSError if one cannot be written.
    """
    for file in files.values():
        if not os.access(file.path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file.path))
    groups = [frozenset(group) for group in together]
    left = _with_their_groups({name for name, file in files.items() if not _holds(file.path, file.before)}, groups)
    written = set[str]()
    for name, file in files.items():
        if name not in left and not _replaced(file.path, file.before, file.after):
            left = _with_their_groups(left | {name}, groups)
        elif name not in left:
            written.add(name)
    for name in written & left:
        _replaced(files[name].path, files[name].after, files[name].before)
    return tuple(name for name in files if name in left)


def _with_their_groups(left: set[str], groups: Iterable[frozenset[str]]) -> set[str]:
    """Return `left` with all files that share a fix with one of them."""
    while any(group & left and not group <= left for group in groups):
        left = left.union(*(group for group in groups if group & left))
    return left


def _holds(path: Path, data: bytes) -> bool:
    """Return whether `data` is the content of `path`; False if the file vanished."""
    try:
        return read_regular_file(path) == data
    except OSError:
        return False


def _replaced(path: Path, before: bytes, after: bytes) -> bool:
    """Replace the content of `path`, or of its link target, by `after`, keeping its mode.

    Does nothing if the content is not `before`, which is checked again right before. A file with several names is
    written in place, so that it stays one file.
    """
    target = os.path.realpath(path)
    status = os.stat(target)  # noqa: PTH116
    if status.st_nlink > 1:
        return _rewritten(target, before, after)
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".triton-doctor-")  # noqa: PTH120
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(after)
        with suppress(OSError):
            os.chown(temporary, status.st_uid, status.st_gid)
        os.chmod(temporary, status.st_mode & 0o7777)  # noqa: PTH101
        if not _holds(path, before):
            os.unlink(temporary)  # noqa: PTH108
            return False
        os.replace(temporary, target)  # noqa: PTH105
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        if isinstance(error, OSError):
            error.filename = str(path)  # the error of a full disk has no name; others name the temporary file
        raise
    return True


def _rewritten(target: str, before: bytes, after: bytes) -> bool:
    with open(target, "r+b") as stream:  # noqa: PTH123
        if stream.read() != before:
            return False
        stream.seek(0)
        stream.write(after)
        stream.truncate()
    return True

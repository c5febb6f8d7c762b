"""Edited files to disk: each at once or not at all, and none that changed since it was read."""

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
    """A file as it was read, and as it is to be."""

    path: Path
    before: bytes
    after: bytes


def write_all(files: Mapping[str, Edited], together: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Write `files`; give those that were left alone, because they had changed meanwhile or belong to one that had.

    `together` are the files of each fix: half of one is never written. Raises OSError for what cannot be written.
    """
    for file in files.values():
        if not os.access(file.path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file.path))
    left = {name for name, file in files.items() if read_regular_file(file.path) != file.before}
    groups = [set(group) for group in together]
    while any(group & left and not group <= left for group in groups):
        left.update(*(group for group in groups if group & left))
    for name, file in files.items():
        if name not in left:
            _write(file.path, file.after)
    return tuple(name for name in files if name in left)


def _write(path: Path, data: bytes) -> None:
    """Put `data` in place of what lies at `path`, or where it links to, with the mode that it has."""
    target = os.path.realpath(path)
    status = os.stat(target)  # noqa: PTH116
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".triton-doctor-")  # noqa: PTH120
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        with suppress(OSError):
            os.chown(temporary, status.st_uid, status.st_gid)
        os.chmod(temporary, status.st_mode & 0o7777)  # noqa: PTH101
        os.replace(temporary, target)  # noqa: PTH105
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        if isinstance(error, OSError):
            error.filename = str(path)  # that of a full disk has none, others name the temporary file
        raise

"""Paths to bytes, of regular files of bounded size alone; and the files that triton-doctor keeps for itself.

A repository may hold a FIFO, or a link to a device: opening the first
waits for a writer, reading the second never ends.
All files that a repository brings are read here: sources, ignore rules, settings, baselines.
"""

from __future__ import annotations

import errno
import os
import stat

# Nobody writes a source or a configuration of this size, and reading it would take longer than all others.
LIMIT_BYTES = 8 << 20

_OPEN = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_OPEN |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


class NotRegularError(OSError):
    """A FIFO, a socket, a device, or a folder."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(errno.EINVAL, "not a regular file", os.fspath(path))


class TooLargeError(OSError):
    """A file of more than `limit_bytes`."""

    def __init__(self, path: str | os.PathLike[str], limit_bytes: int = LIMIT_BYTES) -> None:
        super().__init__(errno.EFBIG, f"more than {limit_bytes >> 20} MB", os.fspath(path))


def read_regular_file(path: str | os.PathLike[str], limit_bytes: int = LIMIT_BYTES) -> bytes:
    """Read the file at `path`, or where it links to. Raises OSError: NotRegularError and TooLargeError are two."""
    return read_with_status(path, limit_bytes)[0]


def read_with_status(path: str | os.PathLike[str], limit_bytes: int = LIMIT_BYTES) -> tuple[bytes, os.stat_result]:
    """Read the file at `path`; the status is from before the first byte was read. Raises as `read_regular_file`."""
    descriptor, status = _open_regular_file(path)
    try:
        if status.st_size > limit_bytes:
            raise TooLargeError(path, limit_bytes)
        return _read_whole(descriptor, status.st_size, path, limit_bytes), status
    finally:
        os.close(descriptor)


def write_own_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to a new file and rename it to `path`: readers see all of it or none. Raises OSError.

    Nothing is left where it fails, and no link is followed, at `path` or at the new file.
    """
    new = f"{os.fspath(path)}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        if os.path.lexists(new):
            os.unlink(new)  # noqa: PTH108
        with os.fdopen(os.open(new, flags, 0o666), "wb") as file:
            file.write(data)
        os.replace(new, path)  # noqa: PTH105
    except OSError:
        if os.path.lexists(new):
            os.unlink(new)  # noqa: PTH108
        raise


def is_own(status: os.stat_result) -> bool:
    """Return whether what has `status` belongs to this user; where files have no owner, all do."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def read_head(path: str | os.PathLike[str], count: int) -> bytes:
    """Read the first `count` bytes of the file at `path`, however large it is. Raises OSError and NotRegularError."""
    descriptor, _ = _open_regular_file(path)
    try:
        return os.read(descriptor, count)
    finally:
        os.close(descriptor)


def file_holds(path: str | os.PathLike[str], word: bytes) -> bool:
    """Return whether `word` stands in the file at `path`; False for a file that cannot be read."""
    try:
        return word in read_regular_file(path)
    except OSError:
        return False


def read_named_file(path: str | os.PathLike[str], limit_bytes: int = LIMIT_BYTES) -> bytes:
    """Read what the command line names, which may be a pipe, as in `<(command)`. Raises OSError and TooLargeError."""
    with open(path, "rb") as file:  # noqa: PTH123
        data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise TooLargeError(path, limit_bytes)
    return data


def _open_regular_file(path: str | os.PathLike[str]) -> tuple[int, os.stat_result]:
    # To open some devices does something (a tape rewinds, a watchdog starts): look before it is opened.
    if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116, thousands
        raise NotRegularError(path)
    descriptor = os.open(path, _OPEN)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):  # it was replaced in between
        os.close(descriptor)
        raise NotRegularError(path)
    return descriptor, status


def _read_whole(descriptor: int, size: int, path: str | os.PathLike[str], limit_bytes: int) -> bytes:
    """Read to the end, which is seldom elsewhere than at `size` bytes: in /proc, or where the file just grew."""
    data = os.read(descriptor, size + 1)
    if len(data) == size:
        return data
    pieces, length = [data], len(data)
    while length <= limit_bytes and (piece := os.read(descriptor, limit_bytes + 1 - length)):
        pieces.append(piece)
        length += len(piece)
    if length > limit_bytes:
        raise TooLargeError(path, limit_bytes)
    return b"".join(pieces)

"""A file that stays open in somebody else's program, which may close its descriptor or take the number for itself.

Daemons close all descriptors that they inherit, fork servers and tests close ranges of them, and `dup2` puts another
file on a number that is in use. What had the number then is not ours: writing to it, or closing it, damages a file of
the program. A descriptor is therefore compared with the file by device and inode before each use.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from pathlib import Path

from triton_doctor.errors import DoctorError, reason_of

# The numbers of the standard streams, which a program may have closed: what it opens next is to get them.
STREAMS = 3


class KeptFile:
    """The file at `path`, written from its beginning. Holds a number only: no Python object closes it at its end."""

    def __init__(self, path: str | Path) -> None:
        """Create the file, or empty it. Raises OSError."""
        self.path = Path(path).absolute()
        self._descriptor = _open(self.path, os.O_CREAT | os.O_TRUNC)
        status = os.fstat(self._descriptor)
        self._identity = status.st_dev, status.st_ino
        self._written = 0

    def write(self, data: bytes) -> None:
        """Write all of `data`. Raises OSError, and DoctorError if the program closed or replaced the descriptor."""
        if not self._is_own(self._descriptor):
            self._open_again()
        while data:
            count = os.write(self._descriptor, data)
            self._written += count
            data = data[count:]

    def close(self) -> None:
        """Close the descriptor, if it still refers to the file. Never raises OSError."""
        descriptor, self._descriptor = self._descriptor, -1
        if self._is_own(descriptor):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _open_again(self) -> None:
        self._descriptor = -1
        try:
            descriptor = _open(self.path, os.O_APPEND | os.O_NONBLOCK)
        except OSError as error:
            raise self._lost(f"it cannot be opened again: {reason_of(error)}") from error
        if not self._is_own(descriptor):
            os.close(descriptor)
            raise self._lost("another file is there now")
        self._descriptor = descriptor

    def _lost(self, reason: str) -> DoctorError:
        message = f"the program closed the descriptor of {self.path}, and {reason}"
        return DoctorError(message, hint="keep the file where it is while the program runs")

    def _is_own(self, descriptor: int) -> bool:
        try:
            status = os.fstat(descriptor)
        except OSError:
            return False
        # An inode may be given to the next file once ours is removed: that has less in it.
        is_shorter = stat.S_ISREG(status.st_mode) and status.st_size < self._written
        return (status.st_dev, status.st_ino) == self._identity and not is_shorter


def _open(path: Path, flags: int) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | flags, 0o666)
    if descriptor >= STREAMS:
        return descriptor
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, STREAMS)
    finally:
        os.close(descriptor)

"""Standard streams that are full, closed, or whose reader has left: one line and exit status 2, or no complaint."""

from __future__ import annotations

import errno
import io
import os
import sys

from triton_doctor.errors import DoctorError, reason_of

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from _typeshed import ReadableBuffer


class GuardedOutput(io.FileIO):
    """The standard stream `fd`. Once it has failed, what is written is dropped, so that Python can close it silently.

    A reader that has left, `| head` for one, is no failure. Any other raises DoctorError, unless the stream is `mute`.
    """

    def __init__(self, fd: int, name: str, *, mute: bool) -> None:
        super().__init__(fd, "wb", closefd=False)
        self._shown = name
        self._mute = mute
        self._failed = False

    def write(self, data: ReadableBuffer, /) -> int:
        """Write `data`, or drop it."""
        if self._failed:
            return memoryview(data).nbytes
        try:
            return super().write(data)
        except OSError as error:
            self._failed = True
            if self._mute or error.errno == errno.EPIPE:
                return memoryview(data).nbytes
            reason = "it is closed" if error.errno == errno.EBADF else reason_of(error)
            raise DoctorError(f"{self._shown} cannot be written: {reason}") from None


def guard_streams() -> None:
    """Guard stdout and stderr. Of a stream that was closed at the start, no file that is opened takes the place."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # the lowest that is free, which is `fd`
    sys.stdout = guarded(sys.stdout, 1, "stdout")
    sys.stderr = guarded(sys.stderr, 2, "stderr")


def guarded(stream: Any, fd: int, name: str) -> io.TextIOWrapper:
    """Wrap a guarded file as a text stream like `stream`, which is None if it was closed at the start."""
    raw = GuardedOutput(fd, name, mute=name == "stderr")
    encoding, errors = ("utf-8", "backslashreplace") if stream is None else (stream.encoding, stream.errors)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding, errors, line_buffering=name == "stderr" or raw.isatty(), write_through=False
    )

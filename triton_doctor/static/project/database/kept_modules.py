"""Modules that a scan has read, for the next scan of the same process: most files are as they were after an edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from triton_doctor.static.environment.setting import EnvironmentFile
    from triton_doctor.static.python.module import Module


class ReadModule(NamedTuple):
    """What was made of `text`: None where it cannot be read; and what it sets, where that was read with it."""

    text: bytes
    module: Module | None
    environment: EnvironmentFile | None


class KeptModules:
    """The modules that were read or asked for last, by path, `most` of them. A module tells only what its text does."""

    def __init__(self, most: int = 0) -> None:
        """Nothing is kept yet."""
        self._most = most
        self._read: dict[str, ReadModule] = {}

    def find(self, path: str, text: bytes) -> ReadModule | None:
        """What was made of the file at `path` when it held `text`; None where it has to be read.

        A module of which some part could not be read is read again: whether that part is asked for may differ.
        """
        found = self._read.get(path)
        if found is None or found.text != text or found.module is None or found.module.unread:
            return None
        return found

    def keep(self, path: str, read: ReadModule) -> None:
        """Keep what was `read` at `path`, in the place of what was asked for longest ago."""
        self._read.pop(path, None)
        self._read[path] = read
        if len(self._read) > self._most:
            del self._read[next(iter(self._read))]

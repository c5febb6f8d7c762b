"""Modules kept from one scan to the next in the same process: after an edit, most files are unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from triton_doctor.static.environment.setting import EnvironmentFile
    from triton_doctor.static.python.module import Module


class ReadModule(NamedTuple):
    """The module read from `text`, None if unreadable, and its settings, if those were read with it."""

    text: bytes
    module: Module | None
    environment: EnvironmentFile | None


class KeptModules:
    """The `most` recently used modules, by path. A module depends on its text only."""

    def __init__(self, most: int = 0) -> None:
        """Start empty."""
        self._most = most
        self._read: dict[str, ReadModule] = {}

    def find(self, path: str, text: bytes) -> ReadModule | None:
        """Return the module of the file at `path` if it was read from `text`; None if it has to be read.

        A module with parts that failed to parse is read again, since the failing part may not be needed this time.
        """
        found = self._read.get(path)
        if found is None or found.text != text or found.module is None or found.module.unread:
            return None
        return found

    def keep(self, path: str, read: ReadModule) -> None:
        """Keep `read` for `path`, and drop the least recently used module if there are too many."""
        self._read.pop(path, None)
        self._read[path] = read
        if len(self._read) > self._most:
            del self._read[next(iter(self._read))]

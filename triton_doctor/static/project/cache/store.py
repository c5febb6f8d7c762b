"""The cache on disk: a SQLite database for each project, in the user's cache folder, with a row for each kind of check.

It is in no repository, so that no checkout brings one along. Whatever is wrong with it (locked by another check,
damaged, read-only, no home folder) only means that a check works without it.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from triton_doctor.regular_files import is_own
from triton_doctor.static.project.cache.scan_cache import NO_CACHED_SCAN
from triton_doctor.version import __version__

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from triton_doctor.settings import Settings
    from triton_doctor.static.project.cache.scan_cache import CachedScan, ScanCache
    from triton_doctor.static.sources.workspace import Workspace

# One row for each combination of paths and settings: `check src/`, `check . --select TRD2`.
_MOST_ROWS = 16
# Databases of projects; the oldest are removed.
_MOST_PROJECTS = 64
# The row for 5,000 sources takes 3 MB, and stored texts at most 16 MiB.
_MOST_BYTES = 64 << 20
_MOST_SECONDS_LOCKED = 1.0
_SUFFIX = ".scans.sqlite"
_TABLE = "CREATE TABLE IF NOT EXISTS scans (name BLOB PRIMARY KEY, digest BLOB, content BLOB)"


class CacheStore:
    """The cache of scans of the paths `asked` in `cwd`, under `settings`."""

    def __init__(self, cwd: Path, asked: Iterable[str], settings: Settings) -> None:
        """Compute the names of the database and the row; nothing is read or written yet."""
        chosen = (settings.root, settings.select, settings.ignore, settings.tests, settings.demonstrations)
        described = repr(
            (
                _tool(),
                sys.version_info[:2],
                str(cwd),
                *asked,
                *chosen,
                settings.triton_version,
                settings.pinned_triton,
                settings.required,
                settings.fixed,
                settings.per_call,
            )
        )
        self._name = _digest(described.encode("utf-8", "surrogatepass"))
        folder = cache_folder()
        self._file = folder / f"{_digest(os.fsencode(cwd)).hex()}{_SUFFIX}" if folder is not None else None

    @classmethod
    def of(cls, workspace: Workspace) -> CacheStore:
        """Return the cache of scans of `workspace`."""
        return cls(workspace.home, map(str, (workspace.base, *workspace.read)), workspace.settings)

    def is_like(self, other: CacheStore) -> bool:
        """Return whether `other` caches scans of the same paths, with the same settings and tool version."""
        return self._name == other._name

    def read(self) -> CachedScan:
        """Return what the last such scan left; NO_CACHED_SCAN if there is none, or it cannot be read."""
        if self._file is None or not _is_own_database(self._file):
            return NO_CACHED_SCAN
        import sqlite3

        query = "SELECT digest, content FROM scans WHERE name = ? AND length(content) <= ?"
        try:
            with closing(_connect(self._file, "ro")) as database:
                row = database.execute(query, (self._name, _MOST_BYTES)).fetchone()
        except (sqlite3.Error, OverflowError):
            return NO_CACHED_SCAN
        if row is None or not isinstance(row[1], bytes) or row[0] != _digest(row[1]):
            return NO_CACHED_SCAN
        from triton_doctor.static.project.cache.format import decode

        return decode(row[1])

    def write(self, scan_cache: ScanCache) -> None:
        """Store `scan_cache` for the next such scan. If that fails, as on a full disk, nothing is stored."""
        if self._file is None:
            return
        import sqlite3

        from triton_doctor.static.project.cache.format import encode

        try:
            content = encode(scan_cache)
            if len(content) > _MOST_BYTES or not _may_write(self._file):
                return
            try:
                self._put(content)
            except sqlite3.OperationalError:  # locked, read-only, full: another time
                return
            except sqlite3.DatabaseError:  # damaged
                self._file.unlink()
                self._put(content)
        except (OSError, sqlite3.Error, ValueError, OverflowError):  # the last two are raised if it cannot be encoded
            return

    def _put(self, content: bytes) -> None:
        assert self._file is not None
        oldest = "DELETE FROM scans WHERE rowid NOT IN (SELECT rowid FROM scans ORDER BY rowid DESC LIMIT ?)"
        with closing(_connect(self._file, "rwc")) as database, database:
            database.execute("BEGIN IMMEDIATE")
            database.execute(_TABLE)
            database.execute("REPLACE INTO scans VALUES (?, ?, ?)", (self._name, _digest(content), content))
            database.execute(oldest, (_MOST_ROWS,))


def cache_folder() -> Path | None:
    """Return the user's cache folder for triton-doctor, which may not exist; None without a home folder.

    XDG_CACHE_HOME counts only if absolute, as its specification says.
    """
    given = Path(os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", ""))
    try:
        return (given if given.is_absolute() else Path.home() / ".cache") / "triton-doctor"
    except RuntimeError:
        return None


def clean() -> int:
    """Remove the databases of all projects from the user's cache folder. Return how many. Raises OSError."""
    folder = cache_folder()
    files = [*folder.glob(f"*{_SUFFIX}"), *folder.glob(f"*{_SUFFIX}-journal")] if folder is not None else []
    for file in files:
        file.unlink(missing_ok=True)
    return sum(file.name.endswith(_SUFFIX) for file in files)


def _connect(file: Path, mode: str) -> sqlite3.Connection:
    """Open the database `file`. The journal is a file, not shared memory, so a home on NFS will do."""
    import sqlite3

    return sqlite3.connect(f"file:{quote(os.fsencode(file))}?mode={mode}", uri=True, timeout=_MOST_SECONDS_LOCKED)


def _is_own_database(file: Path) -> bool:
    """Return whether `file` is a regular file of this user and no link."""
    try:
        status = file.lstat()
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and is_own(status)


def _may_write(file: Path) -> bool:
    """Create the folder of `file` and make room in it. Return whether `file` is ours or missing. Raises OSError."""
    folder = file.parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_own(folder.stat()):
        return False
    if _is_own_database(file):
        return True
    if os.path.lexists(file):
        return False
    files = [other for other in folder.glob(f"*{_SUFFIX}") if _is_own_database(other)]
    for other in sorted(files, key=lambda other: other.lstat().st_mtime_ns)[: len(files) - _MOST_PROJECTS + 1]:
        other.unlink(missing_ok=True)
    return True


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()


def _tool() -> tuple[object, ...]:
    """Return what identifies the tool: its version, and in a development tree the state of its files."""
    return (__version__, *sorted(_states(os.fspath(Path(__file__).parents[3]))))


def _states(folder: str) -> Iterator[tuple[str, int, int]]:
    """Yield path, size and time of each Python file below `folder`."""
    with os.scandir(folder) as found:
        for item in found:
            if item.is_dir():
                yield from _states(item.path)
            elif item.name.endswith(".py"):
                status = item.stat()
                yield item.path, status.st_size, status.st_mtime_ns

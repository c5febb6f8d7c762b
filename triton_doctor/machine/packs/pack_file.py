"""A pack as an SQLite file, from which single entries are read while others read it too.

A running Triton asks for one entry at a time, often over a network. An index of SQLite finds one in a few pages; of a
tar file every header would have to be read first, and a compressed one from its beginning. The file is opened as one
that nobody writes: no locks, no files beside it. Only what Python brings is imported here, as every process that
compiles a kernel imports this.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from triton_doctor.machine.packs.gather import GatheredEntries
    from triton_doctor.machine.packs.manifest import Manifest, PackedEntry, PackedFile

SQLITE_MAGIC = b"SQLite format 3\0"
TABLES = (
    "CREATE TABLE pack (manifest BLOB NOT NULL)",
    "CREATE TABLE entries (key TEXT PRIMARY KEY, grouped TEXT) WITHOUT ROWID",
    "CREATE TABLE files (key TEXT NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, UNIQUE (key, name))",
)
# Of SQLite while a pack from anybody is read, and of a file in it.
HEAP_BYTES, PIECE_BYTES = 32 << 20, 1 << 20
TOO_LARGE = "it takes too much memory"
COPY_AGAIN = "copy it again, or pack it again"
# "TDpk": what `file` shows, and how a pack is told from somebody else's database.
APPLICATION = 0x5444706B


def write_database(gathered: GatheredEntries, path: Path) -> None:
    """Write the pack of `gathered` to a new file at `path`: the same bytes for the same entries. Raises OSError."""
    from triton_doctor.machine.packs.manifest import KERNEL, encode_manifest

    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            for table in TABLES:
                connection.execute(table)
            connection.execute("BEGIN")
            connection.execute("INSERT INTO pack VALUES (?)", (encode_manifest(gathered.manifest),))
            for entry in gathered.manifest.entries:
                group = entry.kernel if entry.kind == KERNEL else None
                connection.execute("INSERT INTO entries VALUES (?, ?)", (entry.key, group))
                for packed in entry.files:
                    row = (entry.key, packed.name, gathered.read(entry, packed))
                    connection.execute("INSERT INTO files VALUES (?, ?, ?)", row)
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise OSError(f"{path}: {error}") from error


def connect(path: str) -> sqlite3.Connection:
    """Open the SQLite pack at `path` read-only, for use by any thread. Raises sqlite3.Error if it is not a pack."""
    connection = sqlite3.connect(f"file:{quote(path)}?mode=ro&immutable=1", uri=True, check_same_thread=False)
    try:
        if is_own_process():
            # A file from anybody may have any number of tables. The limit is the whole process's and stays.
            connection.execute(f"PRAGMA hard_heap_limit = {HEAP_BYTES}")
        connection.execute("PRAGMA trusted_schema = OFF")
        # A file from anybody could have views instead, which compute without end.
        tables = tuple(row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"))
        if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION,) or tables != TABLES:
            raise sqlite3.DatabaseError("not a pack of triton-doctor")
    except BaseException:
        connection.close()
        raise
    return connection


def is_own_process() -> bool:
    """Return whether this process is a command of triton-doctor, rather than a program that uses it."""
    started = str(getattr(sys.modules.get("__main__"), "__file__", ""))
    return started.endswith((f"triton_doctor{os.sep}__main__.py", f"{os.sep}triton-doctor"))


def find_files(connection: sqlite3.Connection, key: str) -> dict[str, bytes]:
    """Return the files of the entry `key` by name; empty if the pack has no such entry. Raises sqlite3.Error."""
    return dict(connection.execute("SELECT name, data FROM files WHERE key = ?", (key,)))


def find_group(connection: sqlite3.Connection, key: str) -> str | None:
    """Return the kernel name in the group file of the entry `key`; None if it is not a kernel. Raises sqlite3.Error."""
    row = connection.execute("SELECT grouped FROM entries WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of the SQLite pack at `path`. Raises DoctorError if it is not a pack, or is damaged."""
    from triton_doctor.errors import DoctorError
    from triton_doctor.machine.packs.manifest import MANIFEST_BYTES, decode_manifest

    try:
        with closing(connect(str(path))) as connection:
            row = connection.execute("SELECT rowid FROM pack").fetchone()
            if row is None:
                raise DoctorError(f"{path}: the manifest is damaged", hint="pack it again")
            with connection.blobopen("pack", "manifest", row[0], readonly=True) as blob:
                data = blob.read(MANIFEST_BYTES + 1)
    except (sqlite3.Error, MemoryError) as error:
        raise DoctorError(
            f"{path} is no pack: {str(error) or TOO_LARGE}", hint="`triton-doctor cache pack` writes one"
        ) from error
    return decode_manifest(data, str(path))


def read_entries(path: Path, manifest: Manifest) -> Iterator[tuple[PackedEntry, dict[str, Iterator[bytes]]]]:
    """Yield each entry of `manifest` with its files by name, each as an iterator over pieces of its content.

    Raises DoctorError, also while pieces are read, if the pack at `path` does not match `manifest`.
    """
    from triton_doctor.errors import DoctorError

    def read_file(key: str, packed: PackedFile) -> Iterator[bytes]:
        query = "SELECT rowid FROM files WHERE key = ? AND name = ?"
        row = None
        try:
            row = connection.execute(query, (key, packed.name)).fetchone()
            with connection.blobopen("files", "data", row[0] if row else 0, readonly=True) as blob:
                if len(blob) != packed.size:
                    raise DoctorError(f"{path} lacks files of {key}", hint=COPY_AGAIN)
                while piece := blob.read(PIECE_BYTES):
                    yield piece
        except (sqlite3.Error, MemoryError) as error:
            problem = f"is damaged: {str(error) or TOO_LARGE}" if row else f"lacks files of {key}"
            raise DoctorError(f"{path} {problem}", hint=COPY_AGAIN) from error

    try:
        connection = connect(str(path))
    except (sqlite3.Error, MemoryError) as error:
        raise DoctorError(f"{path} is damaged: {str(error) or TOO_LARGE}", hint=COPY_AGAIN) from error
    with closing(connection):
        for entry in manifest.entries:
            yield entry, {packed.name: read_file(entry.key, packed) for packed in entry.files}

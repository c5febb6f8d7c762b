"""A pack as an SQLite file, from which single entries are read while others read it too.

A running Triton asks for one entry at a time, often over a network. An index of SQLite finds one in a few pages; of a
tar file every header would have to be read first, and a compressed one from its beginning. The file is opened as one
that nobody writes: no locks, no files beside it. Only what Python brings is imported here, as every process that
compiles a kernel imports this.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from triton_doctor.machine.packs.gather import GatheredEntries
    from triton_doctor.machine.packs.manifest import Manifest, PackedEntry

SQLITE_MAGIC = b"SQLite format 3\0"
TABLES = (
    "CREATE TABLE pack (manifest BLOB NOT NULL)",
    "CREATE TABLE entries (key TEXT PRIMARY KEY, grouped TEXT) WITHOUT ROWID",
    "CREATE TABLE files (key TEXT NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, UNIQUE (key, name))",
)
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
    """The pack at `path`, to read only, by any thread. Raises sqlite3.Error where it is none."""
    connection = sqlite3.connect(f"file:{quote(path)}?mode=ro&immutable=1", uri=True, check_same_thread=False)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        # A file from anybody could have views instead, which compute without end.
        tables = tuple(row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"))
        if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION,) or tables != TABLES:
            raise sqlite3.DatabaseError("not a pack of triton-doctor")
    except BaseException:
        connection.close()
        raise
    return connection


def find_files(connection: sqlite3.Connection, key: str) -> dict[str, bytes]:
    """The files of the entry `key`; none where the pack has no such entry. Raises sqlite3.Error."""
    return dict(connection.execute("SELECT name, data FROM files WHERE key = ?", (key,)))


def find_group(connection: sqlite3.Connection, key: str) -> str | None:
    """The kernel whose group file makes Triton find the entry `key`; None for no kernel. Raises sqlite3.Error."""
    row = connection.execute("SELECT grouped FROM entries WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def read_manifest(path: Path) -> Manifest:
    """The manifest of the pack at `path`. Raises DoctorError."""
    from triton_doctor.errors import DoctorError
    from triton_doctor.machine.packs.manifest import decode_manifest

    try:
        with closing(connect(str(path))) as connection:
            row = connection.execute("SELECT manifest FROM pack").fetchone()
    except sqlite3.Error as error:
        raise DoctorError(f"{path} is no pack: {error}", hint="`triton-doctor cache pack` writes one") from error
    if row is None or not isinstance(row[0], bytes):
        raise DoctorError(f"{path}: the manifest is damaged", hint="pack it again")
    return decode_manifest(row[0], str(path))


def read_entries(path: Path, manifest: Manifest) -> Iterator[tuple[PackedEntry, dict[str, bytes]]]:
    """Each entry of the pack at `path` with its files. Raises DoctorError where `manifest` names others."""
    from triton_doctor.errors import DoctorError

    try:
        with closing(connect(str(path))) as connection:
            for entry in manifest.entries:
                found = find_files(connection, entry.key)
                files = {file.name: found.get(file.name) for file in entry.files}
                if any(
                    not isinstance(data, bytes) or len(data) != file.size
                    for file, data in zip(entry.files, files.values(), strict=True)
                ):
                    raise DoctorError(f"{path} lacks files of {entry.key}", hint="copy it again, or pack it again")
                yield entry, {name: data for name, data in files.items() if data is not None}
    except sqlite3.Error as error:
        raise DoctorError(f"{path} is damaged: {error}", hint="copy it again, or pack it again") from error

"""A pack's path to its content, whatever its form: tar, tar with zstandard, or SQLite. The name's end says which."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.machine.packs import database
from triton_doctor.machine.packs.archive import open_archive, open_regular, write_archive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from triton_doctor.machine.packs.gather import GatheredEntries
    from triton_doctor.machine.packs.manifest import Manifest, PackedEntry

DATABASE, PLAIN, COMPRESSED = ".sqlite", ".tar", ".tar.zst"
FORMS_HINT = f"name it *{COMPRESSED} to move it, *{DATABASE} to read kernels from it, or *{PLAIN}"


def require_form(path: Path) -> str:
    """The form that the name of `path` asks for. Raises DoctorError where it asks for none."""
    for form in (COMPRESSED, PLAIN, DATABASE):
        if path.name.endswith(form) and path.name != form:
            return form
    raise DoctorError(f"{path} does not say which form the pack has", hint=FORMS_HINT)


def write_pack(gathered: GatheredEntries, path: Path) -> int:
    """Write a pack to `path`, which readers see when it is whole; its size in bytes. Raises DoctorError."""
    form = require_form(path)
    new = None
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        new = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            if form != DATABASE:
                write_archive(gathered, file, compress=form == COMPRESSED)
        if form == DATABASE:
            database.write_database(gathered, new)
        mask = os.umask(0)
        os.umask(mask)
        new.chmod(0o666 & ~mask)
        new.replace(path)
    except OSError as error:
        raise DoctorError(f"{path} cannot be written: {reason_of(error)}", hint="name a file") from error
    finally:
        if new is not None:
            with suppress(OSError):
                new.unlink(missing_ok=True)
    return path.stat().st_size


@contextmanager
def open_pack(path: Path) -> Iterator[tuple[Manifest, Iterable[tuple[PackedEntry, Mapping[str, Iterable[bytes]]]]]]:
    """The manifest of the pack at `path`, and its entries to be read once. Raises DoctorError where it is none.

    Of each entry the pieces of its files are read in their order, or not at all, before the next entry is asked for.
    """
    if is_database(path):
        manifest = database.read_manifest(path)
        yield manifest, database.read_entries(path, manifest)
        return
    with open_archive(path) as archive:
        yield archive.manifest, archive.entries()


def is_database(path: Path) -> bool:
    """Whether the file at `path` is of SQLite. Raises DoctorError where it cannot be read."""
    try:
        with open_regular(path) as file:
            return file.read(len(database.SQLITE_MAGIC)) == database.SQLITE_MAGIC
    except OSError as error:
        raise DoctorError(f"{path} cannot be read: {reason_of(error)}", hint="name a pack") from error

"""A pack as a file: written and opened in the form that the end of its name says: tar, tar with zstandard, or SQLite.

An archive may come from anybody. It is read as a stream, a piece at a time: nothing in it decides where a byte is
written or how much memory is used, and each member must be the regular file that the manifest names next, of the size
that it names.
"""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from collections import deque
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import zstandard

from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.machine.packs import pack_file
from triton_doctor.machine.packs.manifest import MANIFEST, MANIFEST_BYTES, Manifest, decode_manifest, encode_manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from triton_doctor.machine.packs.gather import GatheredEntries
    from triton_doctor.machine.packs.manifest import Manifest, PackedEntry

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
LEVEL = 9
# The headers and the padding of a member, and what a stream of tar is read ahead. `tarfile` holds a header in memory.
HEADER_BYTES, PIECE_BYTES = 1 << 16, 1 << 20
# What zstandard may ask for to decompress: four times what its level 19 needs.
WINDOW_BYTES = 1 << 25
DAMAGED = "copy it again, or pack it again"


def write_archive(gathered: GatheredEntries, file: IO[bytes], *, compress: bool) -> None:
    """Write the pack of `gathered` to `file`: the same bytes for the same entries. Raises OSError."""
    with ExitStack() as stack:
        # The frame keeps a checksum, so that a damaged pack is found out.
        compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True, threads=0)
        target: IO[bytes] = file
        if compress:
            target = stack.enter_context(compressor.stream_writer(file, closefd=False))
        tar = stack.enter_context(tarfile.open(fileobj=target, mode="w|", format=tarfile.PAX_FORMAT))
        add_member(tar, MANIFEST, encode_manifest(gathered.manifest))
        for entry in gathered.manifest.entries:
            for packed in entry.files:
                add_member(tar, f"{entry.key}/{packed.name}", gathered.read(entry, packed))


def add_member(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    """Add a file to `tar`, without owner and time so that equal packs have equal bytes."""
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o644
    tar.addfile(member, io.BytesIO(data))


class LimitedReader:
    """Reads `source` as far as `remaining` bytes: a few compressed bytes may stand for any number."""

    def __init__(self, source: IO[bytes], remaining: int) -> None:
        """Allow `remaining` bytes; set it before each header and each content."""
        self._source = source
        self.remaining = remaining

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes. Raises ValueError past the limit."""
        data = self._source.read(size)
        self.remaining -= len(data)
        if self.remaining < 0:
            raise ValueError("it holds more than its manifest names")
        return data


class OpenedArchive:
    """An archive that is being read: its manifest, then its entries."""

    def __init__(self, path: Path, tar: tarfile.TarFile, reader: LimitedReader) -> None:
        """Read the manifest. Raises DoctorError."""
        self.path = path
        self._tar, self._reader = tar, reader
        member = self._next_member()
        if member is None or member.name != MANIFEST or not member.isreg():
            raise DoctorError(f"{path} does not begin with {MANIFEST}", hint="the file is no pack of triton-doctor")
        if member.size > MANIFEST_BYTES:
            raise DoctorError(
                f"{path}: the manifest has {member.size:,} bytes", hint="the file is no pack of triton-doctor"
            )
        self.manifest: Manifest = decode_manifest(b"".join(self._content(member)), str(path))

    def entries(self) -> Iterator[tuple[PackedEntry, dict[str, Iterator[bytes]]]]:
        """Yield each entry with its files by name, each as an iterator over pieces of its content.

        The pieces are read in order, before the next entry is requested. Raises DoctorError, also while pieces are
        read, if the archive does not match its manifest.
        """
        for entry in self.manifest.entries:
            files = {packed.name: self._read_file(f"{entry.key}/{packed.name}", packed.size) for packed in entry.files}
            yield entry, files
            for pieces in files.values():
                deque(pieces, maxlen=0)
        extra = self._next_member()
        self._require(extra is None, f"has `{extra.name[:80] if extra else ''}`, which the manifest does not name")

    def _read_file(self, name: str, size: int) -> Iterator[bytes]:
        member = self._next_member()
        self._require(member is not None, "ends too early")
        assert member is not None
        self._require(member.isreg() and not member.issparse(), f"has `{member.name[:80]}`, which is no regular file")
        self._require(member.name == name, f"has `{member.name[:80]}` where the manifest has `{name}`")
        self._require(member.size == size, f"has {member.size:,} bytes in `{name}`, not {size:,}")
        yield from self._content(member)

    def _next_member(self) -> tarfile.TarInfo | None:
        self._reader.remaining = HEADER_BYTES
        with self._translated():
            return self._tar.next()

    def _content(self, member: tarfile.TarInfo) -> Iterator[bytes]:
        left = member.size
        self._reader.remaining = left + HEADER_BYTES
        with self._translated():
            file = self._tar.extractfile(member)
        while left:
            with self._translated():
                piece = file.read(min(left, PIECE_BYTES)) if file else b""
            self._require(bool(piece), "ends too early")
            left -= len(piece)
            yield piece
        # The tarfile keeps what it has seen; a pack has thousands.
        self._tar.members = []  # type: ignore[attr-defined]

    def _require(self, holds: bool, problem: str) -> None:
        if not holds:
            raise DoctorError(f"{self.path} {problem}", hint=DAMAGED)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (tarfile.TarError, zstandard.ZstdError, EOFError, ValueError, OverflowError, MemoryError) as error:
            raise DoctorError(f"{self.path} is damaged: {error}", hint=DAMAGED) from error
        except OSError as error:
            raise DoctorError(f"{self.path} cannot be read: {reason_of(error)}", hint=DAMAGED) from error


@contextmanager
def open_archive(path: Path) -> Iterator[OpenedArchive]:
    """Open the pack at `path`, compressed or not, and close it when the context ends.

    Raises DoctorError if it is not a pack.
    """
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open_regular(path))
            compressed = file.peek(4)[:4] == ZSTD_MAGIC
            reader = zstandard.ZstdDecompressor(max_window_size=WINDOW_BYTES)
            source = stack.enter_context(reader.stream_reader(file, closefd=False)) if compressed else file
            limited = LimitedReader(source, HEADER_BYTES)
            tar = stack.enter_context(tarfile.open(fileobj=cast("IO[bytes]", limited), mode="r|"))
        except OSError as error:
            raise DoctorError(f"{path} cannot be read: {reason_of(error)}", hint="name a pack") from error
        except (tarfile.TarError, zstandard.ZstdError, EOFError, ValueError) as error:
            raise DoctorError(f"{path} is no pack: {error}", hint="`triton-doctor cache pack` writes one") from error
        yield OpenedArchive(path, tar, limited)


def open_regular(path: Path) -> io.BufferedReader:
    """Open the regular file at `path`. Raises OSError for anything else, without waiting for a writer of a pipe."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    file = os.fdopen(descriptor, "rb")
    if not path.is_file():
        file.close()
        raise OSError(22, "not a regular file")
    return file


DATABASE, PLAIN, COMPRESSED = ".sqlite", ".tar", ".tar.zst"
FORMS_HINT = f"name it *{COMPRESSED} to move it, *{DATABASE} to read kernels from it, or *{PLAIN}"


def require_form(path: Path) -> str:
    """Return the form of a pack by the suffix of `path`. Raises DoctorError if the suffix is none of those."""
    for form in (COMPRESSED, PLAIN, DATABASE):
        if path.name.endswith(form) and path.name != form:
            return form
    raise DoctorError(f"{path} does not say which form the pack has", hint=FORMS_HINT)


def write_pack(gathered: GatheredEntries, path: Path) -> int:
    """Write a pack to `path` atomically, and return its size in bytes. Raises DoctorError if it cannot be written."""
    form = require_form(path)
    new = None
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        new = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            if form != DATABASE:
                write_archive(gathered, file, compress=form == COMPRESSED)
        if form == DATABASE:
            pack_file.write_database(gathered, new)
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
    """Open the pack at `path`; give its manifest and its entries, which can be iterated once.

    The pieces of an entry's files are read in order, or not at all, before the next entry is requested. Raises
    DoctorError if it is not a pack.
    """
    if is_database(path):
        manifest = pack_file.read_manifest(path)
        yield manifest, pack_file.read_entries(path, manifest)
        return
    with open_archive(path) as archive:
        yield archive.manifest, archive.entries()


def is_database(path: Path) -> bool:
    """Return whether the file at `path` is an SQLite database. Raises DoctorError if it cannot be read."""
    try:
        with open_regular(path) as file:
            return file.read(len(pack_file.SQLITE_MAGIC)) == pack_file.SQLITE_MAGIC
    except OSError as error:
        raise DoctorError(f"{path} cannot be read: {reason_of(error)}", hint="name a pack") from error

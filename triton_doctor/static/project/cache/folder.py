"""The cache folder: signed files that one `check` leaves for the next, in a folder of the project that git ignores.

The folder is in a repository, so its files may come from others. A file counts only if it is signed with the user's own
key, which is stored elsewhere. The signature has two halves: one of the name, which quickly shows whose file it is, and
one of name and content, so that no file can replace another.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import reason_of
from triton_doctor.regular_files import is_own, read_head, read_own_file, write_own_file
from triton_doctor.static.project.cache.key import find_key
from triton_doctor.static.project.cache.scan_cache import NO_CACHED_SCAN
from triton_doctor.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.settings import Settings
    from triton_doctor.static.project.cache.scan_cache import CachedScan, ScanCache

FOLDER = ".triton_doctor_cache"
# One file for each combination of paths and settings: `check src/`, `check . --select TRD2`.
_MOST_FILES = 16
# The file for 5,000 sources takes 3 MB, and stored texts at most 16 MiB.
_MOST_BYTES = 64 << 20
_HALF_BYTES = 16
_ENTRY = re.compile(r"[0-9a-f]{32}\.scan")
_UNFINISHED = re.compile(r"[0-9a-f]{32}\.scan\.[0-9]+")
_MARKS = {".gitignore": b"*\n", "CACHEDIR.TAG": b"Signature: 8a477f597d28d172789f06886806bc55\n"}


class CacheStore:
    """The cache of scans of the paths `asked` in `cwd`, under `settings`."""

    def __init__(self, cwd: Path, asked: Iterable[str], settings: Settings) -> None:
        """Compute the file name; nothing is read or written yet."""
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
                settings.fixed,
                settings.per_call,
            )
        )
        name = blake2b(described.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        self._folder = cwd / FOLDER
        self._file = self._folder / f"{name}.scan"
        self._key = find_key()

    def is_like(self, other: CacheStore) -> bool:
        """Return whether `other` caches scans of the same paths, with the same settings and tool version."""
        return self._file == other._file

    def read(self) -> CachedScan:
        """Return what the last such scan left.

        NO_CACHED_SCAN if there is none, or it is unreadable or not signed by this user.
        """
        from triton_doctor.static.project.cache.format import decode

        content = self._read_signed(self._file)
        return NO_CACHED_SCAN if content is None else decode(content)

    def write(self, scan_cache: ScanCache) -> None:
        """Store `scan_cache` for the next such scan. If that fails, as on a full disk, nothing is stored."""
        if self._key is None:
            return
        from triton_doctor.static.project.cache.format import encode

        with contextlib.suppress(OSError, ValueError, OverflowError):  # the last two are raised if it cannot be encoded
            content = encode(scan_cache)
            if len(content) <= _MOST_BYTES and self._has_folder():
                signed = self._sign(self._file.name) + self._sign(self._file.name, content) + content
                write_own_file(self._file, signed)
                self._prune()

    def _read_signed(self, file: Path) -> bytes | None:
        """Return the content of `file`; None if it does not exist or this user did not sign it."""
        if self._key is None or self._folder.is_symlink():
            return None
        try:
            data, _ = read_own_file(file, _MOST_BYTES + 2 * _HALF_BYTES)
        except OSError:
            return None
        content = data[2 * _HALF_BYTES :]
        signature = self._sign(file.name) + self._sign(file.name, content)
        return content if compare_digest(data[: 2 * _HALF_BYTES], signature) else None

    def _sign(self, name: str, content: bytes | None = None) -> bytes:
        """Return half of the signature: of `name`, or of `name` and `content`."""
        half = b"name" if content is None else b"content"
        signed = blake2b(name.encode(), key=self._key or b"", person=half, digest_size=_HALF_BYTES)
        signed.update(content or b"")
        return signed.digest()

    def _is_signed(self, file: Path) -> bool:
        """Return whether this user wrote `file`, judging by its name only."""
        try:
            is_file = stat.S_ISREG(file.lstat().st_mode)
            return is_file and compare_digest(read_head(file, _HALF_BYTES), self._sign(file.name))
        except OSError:
            return False

    def _has_folder(self) -> bool:
        """Create the folder if needed. Return whether it is this user's own folder and no link. Raises OSError."""
        with contextlib.suppress(FileExistsError):
            self._folder.mkdir()
            for name, content in _MARKS.items():
                (self._folder / name).write_bytes(content)
        status = self._folder.lstat()
        return stat.S_ISDIR(status.st_mode) and is_own(status)

    def _prune(self) -> None:
        """Remove the oldest of this user's files if there are too many."""
        with os.scandir(self._folder) as found:
            names = [item.name for item in found if _ENTRY.fullmatch(item.name)]
        if len(names) <= _MOST_FILES:
            return
        files = [file for file in map(self._folder.joinpath, names) if self._is_signed(file)]
        for file in sorted(files, key=lambda file: file.lstat().st_mtime_ns)[:-_MOST_FILES]:
            file.unlink(missing_ok=True)


def clean(folder: Path) -> list[str]:
    """Remove this tool's files from the cache `folder`, and the folder if it is empty then.

    Return why anything stays.
    """
    if folder.is_symlink():
        return ["it is a link"]
    reasons = []
    try:
        for item in sorted(folder.iterdir()):
            reasons += _remove(item)
        if not reasons:
            folder.rmdir()
    except OSError as error:
        reasons.append(reason_of(error))
    return reasons


def _remove(item: Path) -> list[str]:
    """Remove `item` of a cache folder if it belongs to this tool. Return why it stays."""
    try:
        if not _is_written_by_us(item):
            return [f"triton-doctor did not write {item.name}"]
        item.unlink()
    except OSError as error:
        return [f"{item.name}: {reason_of(error)}"]
    return []


def _is_written_by_us(item: Path) -> bool:
    """Return whether `item` of a cache folder has a name that only this tool uses, or marks the folder."""
    if not stat.S_ISREG(item.lstat().st_mode):
        return False
    if item.name in _MARKS:
        return _MARKS[item.name].startswith(read_own_file(item)[0])  # it is truncated if the disk was full
    return bool(_ENTRY.fullmatch(item.name) or _UNFINISHED.fullmatch(item.name))


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

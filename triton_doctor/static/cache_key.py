"""The key that signs cache files: kept by the user, outside of every repository, so that nobody else can write one."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

# For a machine that gets its cache from elsewhere, a CI job say, and whose home is new each time. The name does not begin
# as those of Triton do: recordings and `env` show these.
VARIABLE = "DOCTOR_CACHE_KEY"
_LEAST_CHARACTERS = 16
_KEY_BYTES = 32


def find_key() -> bytes | None:
    """Return the key of this user, which is made when it is first asked for; None where none can be kept."""
    given = os.environ.get(VARIABLE, "")
    if given:
        long_enough = len(given) >= _LEAST_CHARACTERS
        return blake2b(os.fsencode(given), digest_size=_KEY_BYTES).digest() if long_enough else None
    try:
        file = _folder() / "cache-key"
        return _read_key(file) or _make_key(file)
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None


def _folder() -> Path:
    """The folder for what the user keeps; XDG_CONFIG_HOME counts if absolute, as its specification has it."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "triton-doctor"
    home = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".config") / "triton-doctor"


def _read_key(file: Path) -> bytes | None:
    """The key in `file`; None where there is none, or others may know it. Raises OSError."""
    try:
        opened = open_regular(file)
    except FileNotFoundError:
        return None
    with opened:
        mode = os.fstat(opened.fileno()).st_mode
        key = opened.read(_KEY_BYTES + 1)
    is_secret = sys.platform == "win32" or not mode & (stat.S_IRWXG | stat.S_IRWXO)
    return key if is_secret and len(key) == _KEY_BYTES else None


def _make_key(file: Path) -> bytes | None:
    """Write a new key to `file`, and return what is there then: of two runs at once, one wins. Raises OSError."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = file.with_name(f"cache-key.{os.getpid()}")
    try:
        with create(new, 0o600) as opened:
            opened.write(os.urandom(_KEY_BYTES))
        new.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            new.unlink()
        raise
    return _read_key(file)


def open_regular(file: Path) -> BinaryIO:
    """Open `file` to read, if it is a regular file of this user, and no link to one. Raises OSError.

    It never waits, as opening a FIFO would.
    """
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    descriptor = os.open(file, flags)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or not is_own(status):
        os.close(descriptor)
        raise PermissionError(f"{file} is no file of this user")
    return os.fdopen(descriptor, "rb")


def create(file: Path, mode: int) -> BinaryIO:
    """Open `file`, which must be new, to write. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    flags |= sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"))
    return os.fdopen(os.open(file, flags, mode), "wb")


def is_own(status: os.stat_result) -> bool:
    """Whether what has `status` belongs to this user."""
    return sys.platform == "win32" or status.st_uid == os.geteuid()

"""The key that signs cache files. It is stored outside of every repository, so that nobody else can sign one."""

from __future__ import annotations

import os
import stat
import sys
from hashlib import blake2b
from pathlib import Path

from triton_doctor.regular_files import TooLargeError, read_own_file, write_own_file

# For machines that receive a cache but have a new home each time, such as CI jobs. The name does not begin like
# Triton's variables, because recordings and `env` print those.
VARIABLE = "DOCTOR_CACHE_KEY"
_LEAST_CHARACTERS = 16
_KEY_BYTES = 32


def find_key() -> bytes | None:
    """Return this user's key, creating it on first use; None if it cannot be stored."""
    given = os.environ.get(VARIABLE, "")
    if given:
        long_enough = len(given) >= _LEAST_CHARACTERS
        return blake2b(os.fsencode(given), digest_size=_KEY_BYTES).digest() if long_enough else None
    try:
        file = _folder() / "cache-key"
        return _read_key(file) or _make_key(file)
    except (OSError, RuntimeError):  # RuntimeError: no home folder
        return None


def _folder() -> Path:
    """Return the user's configuration folder. XDG_CONFIG_HOME counts only if absolute, as its specification says."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "triton-doctor"
    home = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".config") / "triton-doctor"


def _read_key(file: Path) -> bytes | None:
    """Return the key in `file`; None if there is none, or others may know it. Raises OSError."""
    try:
        key, status = read_own_file(file, _KEY_BYTES)
    except (FileNotFoundError, TooLargeError):
        return None
    is_secret = sys.platform == "win32" or not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    return key if is_secret and len(key) == _KEY_BYTES else None


def _make_key(file: Path) -> bytes | None:
    """Write a new key to `file`, and return the key stored there then: of two concurrent runs, one wins.

    Raises OSError.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_own_file(file, os.urandom(_KEY_BYTES), 0o600)
    return _read_key(file)

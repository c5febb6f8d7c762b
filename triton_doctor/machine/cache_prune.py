"""Old entries of a cache to nothing: which may go, and their removal beside processes that use the others."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.machine.cache_entries import ENTRY_NAME, GROUP, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from triton_doctor.machine.cache_entries import CacheEntry

AGE = re.compile(r"(?P<count>\d{1,6})(?P<unit>[smhdw])")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
# A process that has just found an entry opens its files at once; a compile writes them for minutes at most.
IN_USE_SECONDS = 600


def parse_age(text: str) -> int:
    """`30d` to seconds; also s, m, h and w. Raises DoctorError for anything else."""
    match = AGE.fullmatch(text.strip())
    if match is None:
        raise DoctorError(f"`{text}` is no age", hint="write it as 30d, 12h or 4w")
    return int(match["count"]) * SECONDS[match["unit"]]


def keeps_times_of_use(folder: Path) -> bool:
    """Whether the file system of `folder` notes when a file was last read; else an entry is as old as its compile."""
    return not (hasattr(os, "ST_NOATIME") and os.statvfs(folder).f_flag & os.ST_NOATIME)


def choose_old(
    entries: Iterable[CacheEntry], *, older_than_seconds: int, now: float, kernel: str | None = None
) -> Iterator[CacheEntry]:
    """The entries that nobody has used for so long, and for IN_USE_SECONDS at least; those of `kernel`, where given.

    A folder that somebody else may have written is none of them, whatever its name: a commit of a model has 40 letters.
    """
    limit = now - max(older_than_seconds, IN_USE_SECONDS)
    for entry in entries:
        if entry.is_tritons and entry.used_at <= limit and (kernel is None or entry.kernel == kernel):
            yield entry


def remove_entry(folder: Path, entry: CacheEntry) -> bool:
    """Remove `entry` of `folder`; whether it is gone. Never follows a link, and touches nothing beside it.

    The group file goes first: without it triton sees no entry, and compiles instead of opening what is half removed.
    """
    if not ENTRY_NAME.fullmatch(entry.key):
        raise ValueError(f"{entry.key!r} is no name of a cache entry")
    path = folder / entry.key
    if path.is_symlink() or not path.is_dir():
        return not path.exists()
    try:
        for group in path.glob(f"{GROUP}*{SUFFIX}"):
            group.unlink(missing_ok=True)
        shutil.rmtree(path, ignore_errors=False)
    except FileNotFoundError:
        return not path.exists()
    except OSError:
        return False
    return True

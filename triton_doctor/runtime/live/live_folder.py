"""Where live files lie, and what identifies the process of one: its id, its start, and which ids are meant."""

from __future__ import annotations

import contextlib
import os
import stat

SCHEMA = 1
# A live file is a page at most: a line with the checksum and the length of the JSON, and the JSON.
HEAD_BYTES = 64
LONGEST = 4096 - HEAD_BYTES
IN_MEMORY = "/dev/shm"
PREFIX = "triton-doctor-live-"


def own_folder() -> str:
    """Return the folder of this user's live files, created if missing.

    Raises OSError if it belongs to another user.
    """
    path = live_folder()
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(f"{path} is not a folder of this user's")
    return path


def live_folder() -> str:
    """Return the path of the folder for live files of this user's processes."""
    base = IN_MEMORY if os.access(IN_MEMORY, os.W_OK | os.X_OK) else os.environ.get("TMPDIR") or "/tmp"
    return os.path.join(base, f"{PREFIX}{os.getuid()}")


def start_of(pid: int) -> int:
    """Return when process `pid` started, in ticks since boot; 0 if unknown (proc(5), field 22)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def namespace() -> int:
    """Return the inode of the process id namespace; containers may share the folder but not their ids."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0

"""What processes say to `run` beside their recordings: how often kernels were launched, and what could not be recorded.

It lies in memory of the machine where there is such a folder, so that neither a full disk nor a slow one keeps it back.
`<recording>.launches` is replaced about once a second while kernels are launched; `<process>.stopped` says that a
process records no more, `<process>.unfollowed` that it started one which cannot be followed, and `<process>.warm` when
it printed the line that ends the warm-up. A `run` holds a lock on
its folder, so that the next one can tell the folders of those that were killed, and remove them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time

from triton_doctor.errors import reason_of

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

IN_MEMORY = "/dev/shm"
PREFIX = "triton-doctor-notes-"
# A folder is locked a moment after it is made.
YOUNGEST_ABANDONED_S = 60
# Of the line that closes a recording.
LONGEST_END = 512
LAUNCHES, STOPPED, UNFOLLOWED, WARM = ".launches", ".stopped", ".unfollowed", ".warm"


class NotesFolder:
    """The notes of one run. `path` is where its processes write them."""

    def __init__(self) -> None:
        base = IN_MEMORY if os.access(IN_MEMORY, os.W_OK | os.X_OK) else os.environ.get("TMPDIR") or "/tmp"
        remove_abandoned(base)
        self.path = os.path.join(base, f"{PREFIX}{os.getpid()}-{time.time_ns():x}")
        os.makedirs(self.path, mode=0o700)
        # Closed, and with it unlocked, when this process ends, however it does; programs that it starts do not have it.
        self._held = os.open(self.path, os.O_RDONLY)
        with contextlib.suppress(OSError):
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def complete(self, recordings: Iterable[str]) -> list[str]:
        """Append the last launch count to recordings that were not closed; return descriptions of failures."""
        failed: list[str] = []
        for path in recordings:
            name = os.path.basename(path).removesuffix(".jsonl") + LAUNCHES
            text = next((text for _, text in self._read(name)), "")
            try:
                if text and not is_closed(path):
                    with open(path, "a", encoding="utf-8") as file:
                        file.write(f"{text}\n")
            except OSError as error:
                failed.append(f"the last count of launches is not in {path}: {reason_of(error)}")
        return failed

    def unrecorded(self) -> list[str]:
        """Return a line for each process, or part of one, that is missing from the recordings."""
        stopped = [
            f"process {name.partition('.')[0]} stopped recording: {text.strip() or 'nothing could be written'}"
            for name, text in self._read(STOPPED)
        ]
        return stopped + [line for _, text in self._read(UNFOLLOWED) for line in text.splitlines()]

    def warm_at_ns(self) -> int | None:
        """Return when a process first printed the line that ends the warm-up, in Unix time, or None."""
        return min((int(line) for _, text in self._read(WARM) for line in text.split()), default=None)

    def remove(self) -> None:
        """Delete the folder of notes and release its lock."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._held)

    def _read(self, suffix: str) -> Iterator[tuple[str, str]]:
        try:
            names = sorted(name for name in os.listdir(self.path) if name.endswith(suffix))
        except OSError:
            return
        for name in names:
            try:
                with open(os.path.join(self.path, name), encoding="utf-8", errors="replace") as note:
                    yield name, note.read()
            except OSError:
                continue


def remove_abandoned(base: str) -> None:
    """Delete folders in `base` left by this user's runs that no process holds; never raises.

    This is decided by a lock, since process ids are ambiguous between containers that share the folder.
    """
    with contextlib.suppress(OSError), os.scandir(base) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                    _remove_if_abandoned(entry.path)


def _remove_if_abandoned(path: str) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(folder)
        if status.st_uid == os.getuid() and time.time() - status.st_mtime > YOUNGEST_ABANDONED_S:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(folder)


def is_closed(recording: str) -> bool:
    """Return whether the file `recording` ends with the event that a process writes when it exits normally."""
    with open(recording, "rb") as file:
        file.seek(max(0, os.path.getsize(recording) - LONGEST_END))
        return b'{"event":"end"' in file.read()


def process_of(recording: str) -> int:
    """Return the process id in the file name of `recording`; 0 if there is none."""
    number = os.path.basename(recording).removesuffix(".jsonl").rpartition(".")[2].partition("-")[0]
    return int(number) if number.isdecimal() else 0

"""The processes of a run, seen from outside through /proc: those that import triton unwatched, and those that outlive.

Looked at many times in a second, which is shorter than importing triton and compiling a kernel take. Elsewhere than
on Linux nothing is seen.
"""

from __future__ import annotations

import os
import time

from triton_doctor.runtime.launch.environment import NOTES
from triton_doctor.runtime.launch.following import describe_unfollowed, find_blocking_option, is_python

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator

TRITON = b"libtriton"
LOOK_S = 0.1


class ProcessTree:
    """The process `root` and its descendants, as observed so far."""

    def __init__(self, root: int, notes: str) -> None:
        """Watch descendants of the process `root`, whose environment names the folder `notes`."""
        self._mark = f"{NOTES}={notes}".encode()
        self._known: set[int] = {os.getpid()}
        self._ours: set[int] = {root}
        self._unfollowed: dict[int, str] = {}

    def look(self) -> None:
        """Update what is known from the current processes."""
        now = set(_all_processes())
        new = sorted(now - self._known)
        self._known = now
        self._ours &= now
        for pid in new:
            if _parent(pid) in self._ours or self._is_marked(pid):
                self._ours.add(pid)
        for pid in self._ours - self._unfollowed.keys():
            self._judge(pid)

    def unfollowed(self, recorded: Container[int]) -> list[str]:
        """Return a line for each process that imported Triton and is not in `recorded`, by process id."""
        return [line for pid, line in self._unfollowed.items() if pid not in recorded]

    def wait_for_the_rest(self, at_most_s: float) -> list[tuple[int, str]]:
        """Wait up to `at_most_s` seconds; return id and command of Triton processes still running."""
        until_s = time.monotonic() + at_most_s
        while (rest := self._alive()) and time.monotonic() < until_s:
            time.sleep(LOOK_S)
        return [(pid, " ".join(_command(pid))[:80]) for pid in rest]

    def _alive(self) -> list[int]:
        return [pid for pid in _all_processes() if (pid in self._ours or self._is_marked(pid)) and _maps_triton(pid)]

    def _judge(self, pid: int) -> None:
        command = _command(pid)
        if not command or not is_python(command[0]):
            return
        option = find_blocking_option(command)
        # A program that writes its title over its environment is not marked either, but it records.
        if option is None and self._is_marked(pid):
            return
        if _maps_triton(pid):
            reason = "its environment is not that of the run" if option is None else f"{option} disables recording"
            self._unfollowed[pid] = describe_unfollowed(command, f"{reason}, and it imported triton")

    def _is_marked(self, pid: int) -> bool:
        return self._mark in _read(pid, "environ").split(b"\0")


def _all_processes() -> Iterator[int]:
    try:
        return (int(name) for name in os.listdir("/proc") if name.isdecimal())
    except OSError:
        return iter(())


def _read(pid: int, name: str) -> bytes:
    """Return the contents of `/proc/<pid>/<name>`; empty if the process ended or belongs to another user."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _parent(pid: int) -> int:
    # After the name, which may hold anything, in parentheses (proc(5)).
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _command(pid: int) -> list[str]:
    return [word.decode(errors="replace") for word in _read(pid, "cmdline").split(b"\0") if word]


def _maps_triton(pid: int) -> bool:
    return TRITON in _read(pid, "maps")

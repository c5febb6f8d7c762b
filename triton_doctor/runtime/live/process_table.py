"""The processes of this machine as /proc has them now: state, start, parent, CPU time (proc(5))."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

# What builds a launcher or a binary for Triton: a C compiler with what it starts, ptxas, the tools of ROCm.
TOOL = re.compile(r"(.*-)?(cc1|cc1plus|gcc|g\+\+|cc|clang|collect2|ld|as|lld|ptxas|nvdisasm|hipcc|tcc)(-[\d.]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRow:
    """One process.

    `state` is a letter: R runs, S sleeps, D waits for a disk, T is stopped, Z ended. `start` is in ticks since
    the machine started.
    """

    pid: int
    name: str
    state: str
    parent: int
    start: int
    cpu_s: float


class ProcessTable:
    """Processes at one moment: each is read when it is first asked for, and all for the children of one.

    Elsewhere than on Linux there are none.
    """

    def __init__(self) -> None:
        self._rows: dict[int, ProcessRow | None] = {}
        self._children: dict[int, list[ProcessRow]] | None = None

    def find(self, pid: int) -> ProcessRow | None:
        """Return the row of process `pid`, or None."""
        if pid not in self._rows:
            self._rows[pid] = read_row(pid)
        return self._rows[pid]

    def ancestors(self, pid: int) -> set[int]:
        """Return the process ids of all ancestors of `pid`."""
        found: set[int] = set()
        row = self.find(pid)
        while row is not None and row.parent and row.parent not in found:
            found.add(row.parent)
            row = self.find(row.parent)
        return found

    def innermost_tool(self, pid: int) -> ProcessRow | None:
        """Return the innermost compiler process below `pid`, such as the `cc1` that gcc waits for."""
        children = self._read_children()
        found: ProcessRow | None = None
        left = list(children.get(pid, ()))
        while left:
            row = left.pop()
            if TOOL.fullmatch(row.name):
                found = row
                left = []
            left += children.get(row.pid, ())
        return found

    def _read_children(self) -> dict[int, list[ProcessRow]]:
        if self._children is None:
            self._children = {}
            for pid in _all_processes():
                row = self.find(pid)
                if row is not None:
                    self._children.setdefault(row.parent, []).append(row)
        return self._children


def _all_processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def elapsed_s(row: ProcessRow) -> float:
    """Return the age of a process in seconds."""
    with open("/proc/uptime", encoding="ascii") as file:
        uptime_s = float(file.read().split()[0])
    return max(0.0, uptime_s - row.start / os.sysconf("SC_CLK_TCK"))


def read_row(pid: int) -> ProcessRow | None:
    """Read the row of process `pid` from /proc; None if it ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            head, _, rest = file.read().rpartition(b")")
    except OSError:
        return None
    fields = rest.split()
    if len(fields) < 20:
        return None
    ticks = os.sysconf("SC_CLK_TCK")
    return ProcessRow(
        pid=pid,
        name=head.partition(b"(")[2].decode(errors="replace"),
        state=fields[0].decode(),
        parent=int(fields[1]),
        start=int(fields[19]),
        cpu_s=(int(fields[11]) + int(fields[12])) / ticks,
    )

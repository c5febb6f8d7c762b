"""The processes of this machine as /proc has them now: state, start, parent, CPU time (proc(5))."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

# What builds a launcher or a binary for Triton: a C compiler with what it starts, ptxas, the tools of ROCm.
TOOL = re.compile(r"(.*-)?(cc1|cc1plus|gcc|g\+\+|cc|clang|collect2|ld|as|lld|ptxas|nvdisasm|hipcc|tcc)(-[\d.]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRow:
    """One process. `state` is a letter: R runs, S sleeps, D waits for a disk, T is stopped, Z ended. `start` is in
    ticks since the machine started.
    """

    pid: int
    name: str
    state: str
    parent: int
    start: int
    cpu_s: float


class ProcessTable:
    """All processes at one moment; empty elsewhere than on Linux."""

    def __init__(self, rows: dict[int, ProcessRow], uptime_s: float) -> None:
        self._rows, self._uptime_s = rows, uptime_s
        self._children: dict[int, list[int]] = {}
        for row in rows.values():
            self._children.setdefault(row.parent, []).append(row.pid)

    @classmethod
    def read(cls) -> ProcessTable:
        """Read it now."""
        try:
            pids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
            with open("/proc/uptime", encoding="ascii") as file:
                uptime_s = float(file.read().split()[0])
        except (OSError, ValueError, IndexError):
            return cls({}, 0.0)
        rows = (read_row(pid) for pid in pids)
        return cls({row.pid: row for row in rows if row is not None}, uptime_s)

    def find(self, pid: int) -> ProcessRow | None:
        """The process `pid`; None where there is none."""
        return self._rows.get(pid)

    def ancestors(self, pid: int) -> set[int]:
        """The processes that led to `pid`."""
        found: set[int] = set()
        row = self._rows.get(pid)
        while row is not None and row.parent not in found:
            found.add(row.parent)
            row = self._rows.get(row.parent)
        return found

    def innermost_tool(self, pid: int) -> ProcessRow | None:
        """The compiler below `pid` that no other compiler waits for: gcc starts cc1, and does nothing meanwhile."""
        found: ProcessRow | None = None
        left = list(self._children.get(pid, ()))
        while left:
            row = self._rows[left.pop()]
            if TOOL.fullmatch(row.name):
                found = row
                left = []
            left += self._children.get(row.pid, ())
        return found

    def elapsed_s(self, row: ProcessRow) -> float:
        """How long ago the process of `row` began."""
        return max(0.0, self._uptime_s - row.start / os.sysconf("SC_CLK_TCK"))


def read_row(pid: int) -> ProcessRow | None:
    """The process `pid` now; None where it has ended."""
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

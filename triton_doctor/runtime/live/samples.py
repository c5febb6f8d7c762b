"""Samples the stacks of a process and counts what its threads do."""

from __future__ import annotations

import socket
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.live.live_folder import namespace
from triton_doctor.runtime.live.process_table import ProcessTable
from triton_doctor.runtime.live.stacks import find_place, find_wait, read_activity, read_stacks
from triton_doctor.runtime.live.state_wording import LAUNCHING_S
from triton_doctor.runtime.live.states import RUNNING, ToolProcess, read_tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triton_doctor.runtime.live.stacks import StackFrame, ThreadActivity, ThreadStack
    from triton_doctor.runtime.live.states import ProcessState


# Of torch's watchdog of NCCL (torch 2.13 ProcessGroupNCCL.hpp), in seconds; read from the process that waits.
HEARTBEAT = b"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedProcess:
    """What was seen of process `pid` in `samples` looks. `state` is a letter of proc(5).

    `activities` are with in how many looks each was seen, most first; `places` are where threads were at the last look
    that do nothing in Triton, by their names.
    """

    pid: int
    command: str
    state: str
    samples: int
    activities: tuple[tuple[ThreadActivity, int], ...]
    places: tuple[tuple[str, StackFrame], ...]
    tool: ToolProcess | None


def look_at(pid: int, *, samples: int, seconds: float) -> AttachedProcess:
    """Sample the stacks of process `pid` several times within `seconds`. Raises DoctorError if that fails."""
    counts: Counter[ThreadActivity] = Counter()
    stacks: tuple[ThreadStack, ...] = ()
    for number in range(samples):
        if number:
            time.sleep(seconds / max(1, samples - 1))
        stacks = read_stacks(pid)
        counts.update(activity for stack in stacks if (activity := read_activity(stack, pid)) is not None)
    table = ProcessTable()
    row = table.find(pid)
    if row is None:
        raise DoctorError(
            f"process {pid} ended meanwhile", hint="`triton-doctor top` shows the processes that triton-doctor watches"
        )
    busy = {activity.thread for activity in counts}
    places = ((stack.name, find_place(stack)) for stack in stacks if stack.thread not in busy)
    return AttachedProcess(
        pid=pid,
        command=_command(pid),
        state=row.state,
        samples=samples,
        activities=tuple(counts.most_common()),
        places=tuple((name, frame) for name, frame in places if frame is not None),
        tool=read_tool(pid, table),
    )


def find_waits(states: Iterable[ProcessState]) -> list[ProcessState]:
    """Add to each idle rank on this machine what it waits for, if its stack can be read."""
    return [_find_wait(state) if _is_idle(state) else state for state in states]


def _is_idle(state: ProcessState) -> bool:
    is_here = state.host == socket.gethostname() and state.namespace == namespace()
    idle_s = time.time() - state.launched_at_ns / 1e9
    is_rank = state.rank is not None and state.health == RUNNING
    return is_here and is_rank and state.launched_at_ns > 0 and not state.activities and idle_s >= LAUNCHING_S


def _find_wait(state: ProcessState) -> ProcessState:
    try:
        waits = find_wait(read_stacks(state.pid))
        variables = Path(f"/proc/{state.pid}/environ").read_bytes().split(b"\0")
    except (DoctorError, OSError):
        return state
    found = [value for name, _, value in (variable.partition(b"=") for variable in variables) if name == HEARTBEAT]
    limit = float(found[0]) if found and found[0].isdigit() else None
    return replace(state, waits=waits, heartbeat_s=limit)


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""

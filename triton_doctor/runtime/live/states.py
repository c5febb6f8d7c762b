"""Live files, and what /proc says of their processes, to the ProcessState of each watched process, worst first."""

from __future__ import annotations

import contextlib
import os
import time
import zlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from triton_doctor.regular_files import read_head, read_regular_file
from triton_doctor.runtime.live.activity import Activity  # noqa: TC001 - msgspec evaluates annotations
from triton_doctor.runtime.live.live_folder import HEAD_BYTES, LONGEST, SCHEMA, live_folder, namespace
from triton_doctor.runtime.live.process_table import ProcessTable, elapsed_s

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

RUNNING, STOPPED, GONE, WAITING, ELSEWHERE, UNHEARD = "running", "stopped", "gone", "waiting", "elsewhere", "unheard"
# What is worst comes first; between equals, what has gone on for longest.
WORST = (GONE, UNHEARD, STOPPED, WAITING, RUNNING, ELSEWHERE)
# A reader that comes between two halves of a write looks again.
LOOKS, BETWEEN_S = 20, 0.001
# How long what is left of a killed process is shown, and how long a node may say nothing.
SHOWN_S, UNHEARD_S = 600.0, 10.0
# Of a job, what `run` wrote of each node into the folder of its recordings.
SUFFIX = ".live"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProcess:
    """A compiler that a process started and waits for: gcc's `cc1`, `ptxas`. `cpu_s` is what it has used so far."""

    name: str
    pid: int
    state: str
    elapsed_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessState:
    """One watched process. `activities` are what its threads do, the longest first.

    `health` is running, stopped (by SIGSTOP, or a debugger), gone (it ended without removing its file: it was killed),
    waiting (for a disk or the network, uninterruptibly), elsewhere (in another container, whose processes are not seen
    from here), or unheard (its node no longer reports). Times are Unix time. `step` is None where it has no steps.
    `waits` is what a rank waits in or for, by its stack: a collective, or its GPU; empty where none was seen.
    `heartbeat_s` is what TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC of that rank is set to.
    """

    pid: int
    host: str
    at_ns: int
    start: int = 0
    namespace: int = 0
    rank: int | None = None
    run: str = ""
    command: str = ""
    launches: int = 0
    compiled: int = 0
    loaded: int = 0
    tuned: int = 0
    failed: int = 0
    launched_at_ns: int = 0
    step: int | None = None
    more: int = 0
    activities: tuple[Activity, ...] = ()
    schema: int = SCHEMA
    health: str = RUNNING
    tool: ToolProcess | None = None
    waits: str = ""
    heartbeat_s: float | None = None
    path: str = field(default="", compare=False)

    @property
    def since_ns(self) -> int | None:
        """Return when the longest activity began; None without activities."""
        return self.activities[0].since_ns if self.activities else None


class NodeStates(msgspec.Struct, kw_only=True):
    """The process states of one node, as its `run` published them."""

    host: str
    at_ns: int
    processes: list[ProcessState]


def gather_states(*, run: str | None = None, pids: Collection[int] | None = None) -> list[ProcessState]:
    """Return the recorded processes of this user on this machine; of one `run`, or `pids` with descendants."""
    table = ProcessTable()
    states = [judge(state, table) for state in read_folder(live_folder())]
    if run is not None:
        states = [state for state in states if state.run == run]
    if pids is not None:
        states = [state for state in states if state.pid in pids or table.ancestors(state.pid) & set(pids)]
    return sort_states(states)


def read_folder(folder: str) -> Iterator[ProcessState]:
    """Yield the states in the live files of `folder`."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        state = read_state(path)
        if state is not None:
            yield replace(state, path=path)


def read_state(path: str) -> ProcessState | None:
    """Read the state in the live file `path`; None if it is unreadable or of a newer version."""
    for _ in range(LOOKS):
        try:
            data = read_head(path, LONGEST + HEAD_BYTES)
        except (OSError, ValueError):
            return None
        head, _, rest = data.partition(b"\n")
        words = head.split()
        with contextlib.suppress(ValueError):
            if len(words) == 2:
                text = rest[: int(words[1], 16)]
                if zlib.crc32(text) == int(words[0], 16):
                    return decode_state(text)
        time.sleep(BETWEEN_S)
    return None


def decode_state(text: bytes) -> ProcessState | None:
    """Decode the JSON of a state; None if it is invalid or of a newer version."""
    try:
        state = msgspec.json.decode(text, type=ProcessState)
    except (msgspec.DecodeError, RecursionError):
        return None
    return state if state.schema <= SCHEMA else None


def judge(state: ProcessState, table: ProcessTable) -> ProcessState:
    """Return `state` with its health, and the compiler it waits for, from the process `table`.

    Deletes the file of a process that was killed long ago.
    """
    if state.namespace != namespace():
        return replace(state, health=ELSEWHERE)
    now = table.find(state.pid)
    if now is None or now.state in "ZX" or (state.start and now.start != state.start):
        if time.time() - state.at_ns / 1e9 > SHOWN_S and state.path:
            with contextlib.suppress(OSError):
                os.unlink(state.path)
        return replace(state, health=GONE)
    health = STOPPED if now.state in "Tt" else WAITING if now.state == "D" else RUNNING
    return replace(state, health=health, tool=read_tool(state.pid, table) if state.activities else None)


def read_tool(pid: int, table: ProcessTable) -> ToolProcess | None:
    """Return the innermost compiler process that `pid` started and waits for, or None."""
    child = table.innermost_tool(pid)
    if child is None:
        return None
    return ToolProcess(name=child.name, pid=child.pid, state=child.state, elapsed_s=elapsed_s(child), cpu_s=child.cpu_s)


def read_nodes(folder: Path) -> list[ProcessState]:
    """Return the process states of all nodes that record into `folder`. Raises OSError."""
    states: list[ProcessState] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            node = msgspec.json.decode(read_regular_file(path), type=NodeStates)
        except (OSError, msgspec.DecodeError, RecursionError):
            continue
        heard = time.time() - node.at_ns / 1e9 <= UNHEARD_S
        states += node.processes if heard else [replace(state, health=UNHEARD) for state in node.processes]
    return sort_states(states)


def write_node(path: Path, states: Iterable[ProcessState], host: str) -> None:
    """Write the states of this node atomically for `read_nodes`. Raises OSError."""
    fresh = path.with_suffix(f"{SUFFIX}.new")
    fresh.write_bytes(msgspec.json.encode(NodeStates(host=host, at_ns=time.time_ns(), processes=list(states))))
    fresh.replace(path)


def sort_states(states: Iterable[ProcessState]) -> list[ProcessState]:
    """Sort states by urgency: gone or stopped first, then the longest activity, then idle ones by rank."""

    def badness(state: ProcessState) -> tuple[Any, ...]:
        is_bad = WORST.index(state.health) if state.health in (GONE, UNHEARD, STOPPED) else len(WORST)
        since_ns = state.since_ns
        return (
            is_bad,
            since_ns is None,
            since_ns or 0,
            state.rank is None,
            state.rank or 0,
            state.host,
            state.pid,
        )

    return sorted(states, key=badness)


def remove_files(states: Iterable[ProcessState], alive: Callable[[int], bool]) -> None:
    """Delete the live files of processes that are gone; the report describes them."""
    for state in states:
        if state.path and not alive(state.pid):
            with contextlib.suppress(OSError):
                os.unlink(state.path)

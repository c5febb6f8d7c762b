"""The state of a process in words: what it does, for how long, and what it waits for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from triton_doctor.errors import working_folder
from triton_doctor.runtime.live.activity import BUILDING, COMPILING, TUNING
from triton_doctor.runtime.live.states import ELSEWHERE, GONE, RUNNING, STOPPED, UNHEARD, WAITING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.runtime.live.activity import Activity
    from triton_doctor.runtime.live.states import ProcessState, ToolProcess

# A launch so long ago is one of now: they are counted a few times in a second.
LAUNCHING_S = 2.0
# A rank that has waited for this share of a watchdog's limit is near it.
NEAR = 0.75
# A compiler that has run for so long, and computed for less than this part of it, computes nothing.
STUCK_S, STUCK_SHARE = 5.0, 0.02
# From so long an activity is told as it goes on.
LONG_S = 5.0
HEALTH = {
    STOPPED: "stopped (SIGSTOP, or a debugger)",
    WAITING: "waits for a disk or the network",
    UNHEARD: "its node no longer reports",
    ELSEWHERE: "in another container",
}


def describe_state(state: ProcessState, now_ns: int) -> str:
    """Describe the state of a process: ``compiling `rope` for 41 s at serve.py:88, variant 12: stage cubin``."""
    doing = describe_activities(state, now_ns) or describe_launches(state, now_ns)
    match state.health:
        case "gone":
            ago = seconds((now_ns - state.at_ns) / 1e9)
            return f"ended without closing its recording, killed? last seen {ago} ago: {doing}"
        case "running":
            return doing
        case health:
            return f"{HEALTH[health]}: {doing}"


def describe_activities(state: ProcessState, now_ns: int) -> str:
    """Describe the thread whose activity has lasted longest; empty if no thread is active."""
    if not state.activities:
        return ""
    threads = {activity.thread for activity in state.activities}
    first = state.activities[0].thread
    parts = [
        describe_activity(activity, elapsed_s(activity, state, now_ns))
        for activity in state.activities
        if activity.thread == first
    ]
    if state.tool is not None:
        parts.append(describe_tool(state.tool))
    if len(threads) > 1:
        parts.append(f"and {len(threads) - 1} threads more")
    return "; ".join(parts)


def describe_activity(activity: Activity, elapsed: float) -> str:
    """Describe an activity that has lasted `elapsed` seconds."""
    where = f" at {shorten_path(activity.path)}:{activity.line}" if activity.path else ""
    doing = f"{activity.what}{' for' if activity.what == BUILDING else ''} `{activity.kernel}`"
    text = f"{doing} for {seconds(elapsed)}{where}"
    if activity.what == COMPILING:
        stage = f"stage {activity.stage}" if activity.stage else "looking in the cache"
        return f"{text}, variant {activity.variant}: {stage}"
    if activity.what == TUNING and activity.configs:
        return f"{text}, config {max(1, activity.config)} of {activity.configs}"
    return text


def shorten_path(path: str) -> str:
    """Return `path` relative to the working directory if it is below it."""
    here = f"{working_folder()}{os.sep}"
    return path.removeprefix(here)


def describe_tool(tool: ToolProcess) -> str:
    """Describe the compiler process that is waited for, and whether it uses CPU time."""
    is_stuck = tool.state in "Tt" or (tool.elapsed_s > STUCK_S and tool.cpu_s < STUCK_SHARE * tool.elapsed_s)
    states = {"T": ", stopped", "t": ", stopped", "D": ", waits for a disk or the network", "Z": ", ended"}
    hangs = "hangs in" if is_stuck else "in"
    used = f"{tool.cpu_s:.1f} s of CPU in {seconds(tool.elapsed_s)}"
    return f"{hangs} {tool.name} (pid {tool.pid}{states.get(tool.state, '')}): {used}"


def describe_launches(state: ProcessState, now_ns: int) -> str:
    """Describe a process that compiles nothing: launching, idle, or waiting."""
    if not state.launched_at_ns:
        return "no launch yet"
    ago = (now_ns - state.launched_at_ns) / 1e9
    if ago < LAUNCHING_S:
        return "launching"
    idle = f"nothing launched for {seconds(ago)}"
    if not state.waits:
        return idle
    limit = state.heartbeat_s
    near = f", near TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC={limit:g}" if limit and ago >= NEAR * limit else ""
    return f"waiting {state.waits}, {idle}{near}"


def describe_long(states: Sequence[ProcessState], now_ns: int, due_s: dict[object, float]) -> Iterator[str]:
    """Yield a line for each process whose activity has lasted LONG_S seconds, and again at each doubling.

    `due_s` maps an activity to the duration of its next line and is updated.
    """
    for state in states:
        if state.since_ns is None or state.health not in (RUNNING, STOPPED, WAITING):
            continue
        elapsed = (now_ns - state.since_ns) / 1e9
        key = (state.pid, state.since_ns)
        if elapsed >= due_s.get(key, LONG_S):
            due_s[key] = max(2 * due_s.get(key, LONG_S), elapsed)
            rank = "" if state.rank is None else f"rank {state.rank}: "
            yield f"{rank}process {state.pid} {describe_state(state, now_ns)}"


def elapsed_s(activity: Activity, state: ProcessState, now_ns: int) -> float:
    """Return how many seconds `activity` has lasted; for a process that is gone, until it was last seen."""
    end_ns = state.at_ns if state.health == GONE else now_ns
    return max(0.0, (end_ns - activity.since_ns) / 1e9)


def seconds(value: float) -> str:
    """Format a duration: `0.3 s`, `41 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = int(value)
    if value < 10:
        return f"{value:.1f} s"
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"

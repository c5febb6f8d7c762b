"""The states of running processes to a table that is refreshed, to JSON, and to lines on one that was attached to."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from triton_doctor.runtime.live.activity import COMPILING
from triton_doctor.runtime.live.state_wording import describe_state, describe_tool, elapsed_s
from triton_doctor.runtime.live.states import GONE, STOPPED, UNHEARD, WAITING
from triton_doctor.terminal import escape_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.runtime.live.samples import AttachedProcess
    from triton_doctor.runtime.live.stacks import ThreadActivity
    from triton_doctor.runtime.live.states import ProcessState

SCHEMA = 1
NOT_SHOWN = ("path", "schema", "namespace", "start")
STYLES = {GONE: "red", UNHEARD: "red", STOPPED: "red", WAITING: "yellow"}


def make_table(states: Sequence[ProcessState], now_ns: int) -> Table:
    """Build a table with a row for each process. `now_ns` is Unix time in nanoseconds."""
    table = Table(box=None, pad_edge=False)
    hosts = {state.host for state in states}
    columns = [*(["host"] if len(hosts) > 1 else []), "rank", "pid", "launches", "compiled", "from disk", "step", "now"]
    for name in columns:
        table.add_column(name, justify="left" if name in ("host", "now") else "right", no_wrap=name != "now")
    for state in states:
        busy = "bold" if state.activities else ""
        cells = [*([state.host] if len(hosts) > 1 else []), "" if state.rank is None else str(state.rank)]
        cells += [str(state.pid), f"{state.launches:,}", f"{state.compiled:,}", f"{state.loaded:,}"]
        cells += ["" if state.step is None else f"{state.step:,}"]
        now = Text(escape_line(describe_state(state, now_ns)), style=STYLES.get(state.health, busy))
        table.add_row(*map(escape_line, cells), now)
    return table


def render_states(states: Sequence[ProcessState], now_ns: int) -> str:
    """Render the processes as JSON that always has every key; times are in seconds, `now` is the state in words."""
    processes = []
    for state in states:
        fields = {name: value for name, value in asdict(state).items() if name not in NOT_SHOWN}
        fields["activities"] = [
            {name: value for name, value in asdict(activity).items() if name != "since_ns"}
            | {"seconds": round(elapsed_s(activity, state, now_ns), 3)}
            for activity in state.activities
        ]
        processes.append(fields | {"now": describe_state(state, now_ns)})
    return json.dumps({"schema": SCHEMA, "at_ns": now_ns, "processes": processes}, indent=2) + "\n"


LONGEST_COMMAND, PLACES_SHOWN = 100, 8
STATES = {"T": "stopped (SIGSTOP)", "t": "stopped by a debugger", "D": "waits for a disk or the network"}


def describe_attached(seen: AttachedProcess) -> Iterator[str]:
    """Yield lines on the process, on what its threads do in Triton, and on where its other threads are."""
    yield escape_line(f"process {seen.pid}: {seen.command[:LONGEST_COMMAND]}")
    if seen.state in STATES:
        yield f"  {STATES[seen.state]}"
    for activity, count in seen.activities:
        yield escape_line(f"  {describe_activity(activity)} ({count} of {seen.samples} looks)")
    if seen.tool is not None:
        yield escape_line(f"  {describe_tool(seen.tool)}")
    if not seen.activities:
        yield f"  compiles, builds, tunes and loads nothing of Triton's, in {seen.samples} looks"
    for name, frame in seen.places[:PLACES_SHOWN]:
        where = f"{frame.path}:{frame.line} in {frame.function}"
        yield escape_line(f"  thread {name or 'without a name'} is at {where}")
    if len(seen.places) > PLACES_SHOWN:
        yield f"  and {len(seen.places) - PLACES_SHOWN} threads more"


def describe_activity(activity: ThreadActivity) -> str:
    """Format a thread's activity: ``MainThread: compiling `rope`: stage cubin, launched at serve.py:88``."""
    kernel = f" `{activity.kernel}`" if activity.kernel else ""
    stage = f": stage {activity.stage}" if activity.stage else ""
    if activity.what == COMPILING and not stage:
        stage = ": between stages, or looking in the cache"
    site = f", launched at {activity.path}:{activity.line}" if activity.path else ""
    source = f": {activity.source}" if activity.source else ""
    return f"{activity.name or 'a thread'}: {activity.what}{kernel}{stage}{site}{source}"


def render_attached(seen: AttachedProcess) -> str:
    """Render as a JSON object that always has every key."""
    fields = {
        "pid": seen.pid,
        "command": seen.command,
        "state": seen.state,
        "samples": seen.samples,
        "activities": [asdict(activity) | {"samples": count} for activity, count in seen.activities],
        "tool": None if seen.tool is None else asdict(seen.tool),
        "places": [
            {"thread": name, "path": frame.path, "line": frame.line, "function": frame.function}
            for name, frame in seen.places
        ],
    }
    return json.dumps({"schema": SCHEMA} | fields, indent=2) + "\n"

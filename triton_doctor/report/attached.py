"""What was seen of a process from outside, in lines and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from triton_doctor.runtime.live.activity import COMPILING
from triton_doctor.runtime.live.wording import describe_tool
from triton_doctor.terminal import escape_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.runtime.live.samples import AttachedProcess
    from triton_doctor.runtime.live.stacks import ThreadActivity

SCHEMA = 1
LONGEST_COMMAND, PLACES_SHOWN = 100, 8
STATES = {"T": "stopped (SIGSTOP)", "t": "stopped by a debugger", "D": "waits for a disk or the network"}


def describe_attached(seen: AttachedProcess) -> Iterator[str]:
    """A line for the process, for what its threads do in Triton, and for where the others are."""
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
    """``MainThread: compiling `rope`: stage cubin, launched at serve.py:88: rope[grid](x)``."""
    kernel = f" `{activity.kernel}`" if activity.kernel else ""
    stage = f": stage {activity.stage}" if activity.stage else ""
    if activity.what == COMPILING and not stage:
        stage = ": between stages, or looking in the cache"
    site = f", launched at {activity.path}:{activity.line}" if activity.path else ""
    source = f": {activity.source}" if activity.source else ""
    return f"{activity.name or 'a thread'}: {activity.what}{kernel}{stage}{site}{source}"


def render_attached(seen: AttachedProcess) -> str:
    """JSON: each key always there."""
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

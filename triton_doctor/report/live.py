"""The states of processes as a table that is refreshed, and as JSON: what each does now, the worst first."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from triton_doctor.runtime.live.states import GONE, STOPPED, UNHEARD, WAITING
from triton_doctor.runtime.live.wording import describe_state, elapsed_s
from triton_doctor.terminal import escape_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.runtime.live.states import ProcessState

SCHEMA = 1
NOT_SHOWN = ("path", "schema", "namespace", "start")
STYLES = {GONE: "red", UNHEARD: "red", STOPPED: "red", WAITING: "yellow"}


def make_table(states: Sequence[ProcessState], now_ns: int) -> Table:
    """One row a process."""
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
    """JSON: each key always there, times in seconds; `now` is the state in words."""
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

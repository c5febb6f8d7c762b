"""`triton-doctor top`: what processes do now; one that is not watched is looked into by its stacks."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triton_doctor.cli.messages import print_message

if TYPE_CHECKING:
    from triton_doctor.runtime.live.samples import AttachedProcess
    from triton_doctor.runtime.live.states import ProcessState

# Without a terminal a line is as long as it is.
WIDEST = 400
# How a process that is not watched is looked at: so many samples of its stacks in so long.
SAMPLES, SAMPLED_SECONDS = 5, 1.0
REFRESH_S = 0.5


class TopFormat(StrEnum):
    """How `top` shows the states."""

    TEXT = "text"
    JSON = "json"


def top(
    of: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DIR|PID",
            help="Folders of `run -o`, or processes; without any, all of yours. One process that is not watched is "
            "looked at from outside, by py-spy.",
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Show it once, as where stdout is no terminal.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Have PID keep a live file and log from now on; needs Python 3.14 in both.")
    ] = False,
    output_format: Annotated[TopFormat, typer.Option(help="The form; json shows it once.")] = TopFormat.TEXT,
) -> None:
    """Show what each watched process does now: which kernel it compiles, for how long, and what it waits for.

    Processes are watched under `triton-doctor run`, and where the variable TRITON_DOCTOR is set. The worst come first:
    those that were killed or stopped, then what has compiled for longest.
    """
    from triton_doctor.cli.streams import write_report
    from triton_doctor.report.live import render_states

    named = of or []
    if watch:
        from triton_doctor.runtime.live.attach import begin_watching

        begin_watching(require_process(named))
    states = read_states(named)
    if not states and len(named) == 1 and named[0].isdecimal():
        look_into(int(named[0]), output_format)
    elif output_format is TopFormat.JSON:
        write_report(render_states(states, time.time_ns()), None)
    elif once or not sys.stdout.isatty():
        show_once(states)
    else:
        show_live(named)


def require_process(named: list[str]) -> int:
    """Return the one process that is `named`. Raises DoctorError for anything else."""
    from triton_doctor.errors import DoctorError

    if len(named) != 1 or not named[0].isdecimal():
        raise DoctorError("--watch needs one process", hint="triton-doctor top --watch PID")
    return int(named[0])


def look_into(pid: int, form: TopFormat) -> None:
    """Print what process `pid`, which is not watched, does by its stacks: compiling, building, tuning or none."""
    from triton_doctor.cli.streams import write_report
    from triton_doctor.report.live import describe_attached, render_attached
    from triton_doctor.runtime.live.samples import look_at

    seen: AttachedProcess = look_at(pid, samples=SAMPLES, seconds=SAMPLED_SECONDS)
    text = render_attached(seen) if form is TopFormat.JSON else "\n".join(describe_attached(seen)) + "\n"
    write_report(text, None)


def read_states(named: list[str]) -> list[ProcessState]:
    """Read the states of the `named` processes and folders, of all the user's processes if none; worst first."""
    from triton_doctor.errors import DoctorError, reason_of
    from triton_doctor.runtime.live.samples import find_waits
    from triton_doctor.runtime.live.states import SUFFIX, gather_states, read_nodes, sort_states

    if not named:
        return find_waits(gather_states())
    pids = {int(word) for word in named if word.isdecimal()}
    states = gather_states(pids=pids) if pids else []
    for word in named:
        folder = Path(word)
        if word.isdecimal():
            if not any(state.pid == int(word) for state in states) and not Path("/proc", word).exists():
                raise DoctorError(f"there is no process {word}", hint="`triton-doctor top` shows all that are watched")
            continue
        try:
            if not folder.is_dir() or not any(folder.glob(f"*{SUFFIX}")):
                raise DoctorError(f"no run records into {word} now", hint="name the folder of `triton-doctor run -o`")
            states += read_nodes(folder)
        except OSError as error:
            raise DoctorError(f"cannot read {word}: {reason_of(error)}", hint="name a folder, or a process") from error
    return find_waits(sort_states(states))


def show_once(states: list[ProcessState]) -> None:
    """Print the table."""
    from rich.console import Console

    from triton_doctor.report.live import make_table

    if not states:
        print_message("no process is watched: `triton-doctor top PID` looks into one that is not")
        return
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDEST, soft_wrap=True)
    with console.capture() as table:
        console.print(make_table(states, time.time_ns()))
    typer.echo("\n".join(line.rstrip() for line in table.get().splitlines()))


def show_live(named: list[str]) -> None:
    """Refresh the table in place until Ctrl-C."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from triton_doctor.report.live import make_table

    console = Console(highlight=False)
    with Live(console=console, auto_refresh=False, screen=False) as live:
        while True:
            states = read_states(named)
            shown = states[: max(1, console.height - 3)]
            table = make_table(shown, time.time_ns())
            if len(shown) < len(states):
                table.caption = Text(f"and {len(states) - len(shown):,} processes more")
            live.update(table if states else Text("no process is watched"), refresh=True)
            time.sleep(REFRESH_S)

"""`triton-doctor attach PID`: what a process that was never watched does in Triton."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from triton_doctor.cli.top import TopFormat

if TYPE_CHECKING:
    from triton_doctor.runtime.live.samples import AttachedProcess

SAMPLES = 5


def attach(
    pid: Annotated[int, typer.Argument(metavar="PID", help="A process that runs Python.", min=1)],
    seconds: Annotated[float, typer.Option(metavar="S", help="How long to look.", min=0.0, max=60.0)] = 1.0,
    watch: Annotated[
        bool, typer.Option("--watch", help="Have it keep a live file and log from now on; needs Python 3.14 in both.")
    ] = False,
    output_format: Annotated[TopFormat, typer.Option(help="The form.")] = TopFormat.TEXT,
) -> None:
    """Look at a running process from outside: does it compile, build a launcher, tune, load, or none of these?

    Reads its stacks by py-spy a few times; the process is not stopped, needs no restart, and nothing in it changes
    unless --watch is given.
    """
    from triton_doctor.cli.streams import write_report
    from triton_doctor.report.attached import render_attached, tell_attached
    from triton_doctor.runtime.live.samples import look_at
    from triton_doctor.runtime.live.watching import begin_watching

    if watch:
        begin_watching(pid)
    seen: AttachedProcess = look_at(pid, samples=SAMPLES, seconds=seconds)
    text = render_attached(seen) if output_format is TopFormat.JSON else "\n".join(tell_attached(seen)) + "\n"
    write_report(text, None)

"""`triton-doctor report PATHS...`: what recordings say."""

from pathlib import Path
from typing import Annotated

import typer

from triton_doctor.report.recording import RunForm, SortOrder

STOPPED = 2


def report(
    paths: Annotated[list[Path], typer.Argument(metavar="PATHS...", help="Recordings, and folders of them.")],
    output_format: Annotated[RunForm, typer.Option(help="The form of the report.")] = RunForm.TEXT,
    output_file: Annotated[Path | None, typer.Option(help="Write the report there.", show_default="to stdout")] = None,
    sort: Annotated[SortOrder, typer.Option(help="By what to sort the kernels, most first.")] = SortOrder.TIME,
    kernel: Annotated[str, typer.Option(metavar="GLOB", help="Only kernels whose name matches.")] = "*",
    since: Annotated[
        str | None,
        typer.Option(metavar="warmup|SECONDS", help="Only what happened after the warm-up, or after so many seconds."),
    ] = None,
    pack: Annotated[
        list[Path] | None,
        typer.Option(help="Say why compiles were not found in this pack.", show_default="packs that the run used"),
    ] = None,
) -> None:
    """Report where the time of recorded runs went: compiling, loading, tuning; by kernel, with causes and advice."""
    from triton_doctor.cli.recorded import read_named
    from triton_doctor.cli.streams import require_output, write_report
    from triton_doctor.errors import working_folder
    from triton_doctor.report.recording import render_account
    from triton_doctor.report.recording.choice import choose, sort_kernels
    from triton_doctor.report.recording.unserved import explain_unserved
    from triton_doctor.runtime.account import account
    from triton_doctor.terminal import color_report, width_of_report

    require_output(output_file, (file for path in paths for file in (path, *path.glob("*.jsonl"))))
    recorded = read_named(paths)
    processes = choose(recorded.processes, kernel=kernel, since=since)
    to_file = output_file is not None
    text = render_account(
        sort_kernels(account(processes), sort),
        output_format,
        recordings=processes,
        cwd=Path(working_folder()),
        color=color_report(to_file=to_file),
        width=width_of_report(to_file=to_file),
        unserved=explain_unserved(processes, pack or []),
    )
    write_report(text.lstrip("\n"), output_file)
    raise typer.Exit(0 if recorded.whole else STOPPED)

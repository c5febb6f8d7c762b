"""`triton-doctor compare BEFORE AFTER`: what changed between two recorded runs."""

from pathlib import Path
from typing import Annotated

import typer

from triton_doctor.cli.output import OutputFile
from triton_doctor.report.comparison import CompareForm

FOUND, STOPPED = 1, 2


def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="A recording, or a folder of those of one run.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The same of the run to compare with it.")],
    output_format: Annotated[
        CompareForm | None, typer.Option(help="The form of the comparison.", show_default="text, or as FILE is named")
    ] = None,
    output: OutputFile = None,
    fail_on_new: Annotated[
        bool, typer.Option("--fail-on-new", help="Exit with 1 if AFTER has a variant that BEFORE does not have.")
    ] = False,
) -> None:
    """Compare two runs: variants that are new, gone or changed, and the time that moved, by kernel and by cause."""
    from triton_doctor.cli.messages import print_message
    from triton_doctor.cli.recorded import read_named
    from triton_doctor.cli.streams import require_output, write_report
    from triton_doctor.report import choose_form
    from triton_doctor.report.comparison import render_comparison
    from triton_doctor.report.comparison.compare import compare_runs

    require_output(output, (file for path in (before, after) for file in (path, *path.glob("*.jsonl"))))
    form = choose_form(CompareForm, output_format, output)
    runs = [read_named([path]) for path in (before, after)]
    comparison = compare_runs(*(run.processes for run in runs))
    write_report(render_comparison(comparison, form), output)
    if fail_on_new and comparison.new_variants:
        raise typer.Exit(FOUND)
    if fail_on_new and comparison.hidden_after:
        print_message(f"no new variant was seen, and {after} may miss some: {comparison.hidden_after[0]}")
        raise typer.Exit(STOPPED)
    raise typer.Exit(0 if all(run.whole for run in runs) else STOPPED)

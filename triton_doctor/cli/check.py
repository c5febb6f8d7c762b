"""`triton-doctor check PATHS...`: what reading the source predicts."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from triton_doctor.cli.bare_options import DRY_COMMAND
from triton_doctor.cli.fixing import Diff, Fix, FixChoice, UnsafeFixes, Verify
from triton_doctor.report import Form, Show

REPORTING, INPUT = "What to report", "Input and cache"
ADOPTION, EVIDENCE = "Adopt in an existing project", "Evidence from runs"


class Level(StrEnum):
    """The words of `--fail-on`."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


Paths = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATHS", help="Files and folders; - reads one file from stdin.", show_default="."),
]
OutputFormat = Annotated[
    Form | None,
    typer.Option(help="The form of the report.", show_default="full, or as FILE is named", rich_help_panel=REPORTING),
]
OutputFile = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the report there: .json, .sarif or .txt.",
        show_default="stdout",
        rich_help_panel=REPORTING,
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CODES",
        help="Codes or prefixes to look for: TRD2,TRD101.",
        show_default="all",
        rich_help_panel=REPORTING,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CODES", help="Codes or prefixes to leave out.", show_default="none", rich_help_panel=REPORTING
    ),
]
FailOn = Annotated[
    Level | None,
    typer.Option(
        help="The least severity that makes the exit status 1.", show_default="warning", rich_help_panel=REPORTING
    ),
]
TritonVersion = Annotated[
    str | None,
    typer.Option(
        metavar="X.Y",
        help="The Triton that the code is for.",
        show_default="the newest known",
        rich_help_panel=REPORTING,
    ),
]
ExitZero = Annotated[
    bool, typer.Option("--exit-zero", help="Exit with 0 whatever is found.", rich_help_panel=REPORTING)
]
Shown = Annotated[
    list[Show] | None,
    typer.Option(
        help="List more in --output-format full. info: notes; undecided: constexprs that no launch in the source "
        "decides; unresolved: launches of unknown kernels; all: each of these, and the source lines of causes.",
        show_default="none",
        rich_help_panel=REPORTING,
    ),
]
Why = Annotated[
    bool,
    typer.Option(
        "--why",
        help="Below each finding, list the evidence that decided it, with weight and line.",
        rich_help_panel=REPORTING,
    ),
]
Statistics = Annotated[bool, typer.Option("--statistics", help="Show counts by rule only.", rich_help_panel=REPORTING)]
Baseline = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Leave out the findings that FILE knows.",
        show_default="none",
        rich_help_panel=ADOPTION,
    ),
]
WriteBaseline = Annotated[
    bool,
    typer.Option(
        "--write-baseline",
        help="Write all that is found to the baseline, and report nothing.",
        rich_help_panel=ADOPTION,
    ),
]
AddIgnore = Annotated[
    str | None,
    typer.Option(
        "--add-ignore",
        metavar="[=REASON]",
        help="Add a comment that silences each finding to its line, and report what is left.",
        show_default=False,
        rich_help_panel=ADOPTION,
    ),
]
Changed = Annotated[
    str | None,
    typer.Option(
        "--changed",
        metavar="[REV]",
        help="Findings in files that changed since REV only; HEAD where it is left out.",
        show_default=False,
        rich_help_panel=ADOPTION,
    ),
]
Recording = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE...",
        help="What `run -o` recorded, to confirm or clear findings.",
        show_default=False,
        rich_help_panel=EVIDENCE,
    ),
]
Dry = Annotated[
    bool,
    typer.Option(
        "--dry",
        help="Run the command after -- dry, the tests where there is none, and judge by that.",
        rich_help_panel=EVIDENCE,
    ),
]
StdinFilename = Annotated[
    Path | None,
    typer.Option(help="The path that the file from stdin stands for.", show_default="stdin.py", rich_help_panel=INPUT),
]
NoCache = Annotated[
    bool,
    typer.Option("--no-cache", help="Neither read nor write the cache of earlier checks.", rich_help_panel=INPUT),
]
Clean = Annotated[
    bool,
    typer.Option(
        "--clean", help="Delete what checks and sweeps keep, of all projects, and stop.", rich_help_panel=INPUT
    ),
]
Watch = Annotated[
    bool,
    typer.Option("--watch", help="Check again each time that a file changes, until Ctrl-C.", rich_help_panel=INPUT),
]


def check(
    context: typer.Context,
    paths: Paths = None,
    output_format: OutputFormat = None,
    output: OutputFile = None,
    select: Select = None,
    ignore: Ignore = None,
    fail_on: FailOn = None,
    triton_version: TritonVersion = None,
    exit_zero: ExitZero = False,
    show: Shown = None,
    why: Why = False,
    statistics: Statistics = False,
    fix: Fix = False,
    unsafe_fixes: UnsafeFixes = False,
    diff: Diff = False,
    verify: Verify = False,
    baseline: Baseline = None,
    write_baseline: WriteBaseline = False,
    add_ignore: AddIgnore = None,
    changed: Changed = None,
    recording: Recording = None,
    dry: Dry = False,
    stdin_filename: StdinFilename = None,
    no_cache: NoCache = False,
    clean: Clean = False,
    watch: Watch = False,
) -> None:
    """Find what makes kernels recompile or run in the wrong mode, by reading Python and settings files.

    Needs neither torch nor triton. The exit status is 0 for clean, 1 for found, 2 for could not do it.
    """
    from triton_doctor.cli.checking import CheckRequest, delete_cache, run_check
    from triton_doctor.report import choose_form

    if clean:
        delete_cache()
    run_check(
        CheckRequest(
            paths=tuple(paths or ["."]),
            output_format=choose_form(Form, output_format, output),
            output_file=output,
            select=split_codes(select),
            ignore=split_codes(ignore),
            fail_on=fail_on,
            triton_version=triton_version,
            exit_zero=exit_zero,
            show=frozenset(show or ()),
            why=why,
            statistics=statistics,
            stdin_filename=stdin_filename,
            no_cache=no_cache,
            baseline=baseline,
            write_baseline=write_baseline,
            add_ignore=add_ignore,
            changed=changed,
            recording=tuple(recording or ()),
            dry=dry,
            dry_command=context.meta.get(DRY_COMMAND, ()),
            fixes=FixChoice(fix=fix, unsafe=unsafe_fixes, diff=diff, verify=verify),
            watch=watch,
        )
    )


def split_codes(values: list[str] | None) -> tuple[str, ...]:
    """Split the codes of an option that can be repeated and can list several: `--select TRD1,TRD2 --select TRD3`."""
    return tuple(code.strip() for value in values or () for code in value.split(","))

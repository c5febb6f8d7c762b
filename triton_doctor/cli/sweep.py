"""`triton-doctor sweep`: which dimension moves which part of a kernel's key, of one function or of a whole project."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

FOUND, STOPPED = 1, 2


class SweepForm(StrEnum):
    """The forms of `sweep --output-format`."""

    TEXT = "text"
    JSON = "json"


class Unknown(StrEnum):
    """What to do where a program needs a value that a dry run does not have."""

    GUESS = "guess"
    STOP = "stop"


def sweep(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH... | MODULE:FUNCTION",
            help="Files and folders, or file.py:entry; with --vary a function that takes the dimensions as keywords.",
        ),
    ],
    vary: Annotated[
        list[str] | None, typer.Option(metavar="NAME=SIZES", help="A dimension: length=1..4096, or batch=1,2,8.")
    ] = None,
    fixed: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A dimension that is a size of the model, not of a call.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="TARGET", help="The GPU to pretend: cuda:90, or cuda:90,sms=132.")
    ] = None,
    dry_unknown: Annotated[
        Unknown, typer.Option(help="Guess a value that only a GPU could give, or stop there. With --vary.")
    ] = Unknown.GUESS,
    search: Annotated[
        int, typer.Option(min=0, metavar="N", help="Look for variants not yet seen at N more sizes. With --vary.")
    ] = 0,
    kernel: Annotated[str, typer.Option(metavar="GLOB", help="The kernels that --max-compiles is about.")] = "*",
    max_compiles: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="With --vary: exit with 1 if a kernel needs more variants than this for a model."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Agree that the code below PATH is run; CI=true does, too.")
    ] = False,
    no_tests: Annotated[
        bool, typer.Option("--no-tests", help="Do not run tests and examples of the project for a minute first.")
    ] = False,
    example: Annotated[
        list[str] | None,
        typer.Option(metavar="ENTRY=FILE", help="A file that calls an entry: ops.py:decode=tests/test_decode.py."),
    ] = None,
    write_drivers: Annotated[
        Path | None,
        typer.Option("--write-drivers", metavar="DIR", help="Write the calls made up as drivers and tests."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="How many entries run at a time.", show_default="one a core")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="dask:ADDRESS", help="Run entries on a cluster: dask:tcp://HOST:PORT.")
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Run each entry, also those that did not change since the last sweep.")
    ] = False,
    no_sandbox: Annotated[
        bool, typer.Option("--no-sandbox", help="Run the code with your rights, where no sandbox can be made.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Keep the recording, for check --recording (.jsonl), or write the report there (.json, .txt).",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what -o or --write-drivers names.")] = False,
    output_format: Annotated[
        SweepForm | None, typer.Option(help="The form of the report.", show_default="text, or as FILE is named")
    ] = None,
) -> None:
    """Vary the sizes of calls without a GPU, and say which sizes make kernels compile again, and how often.

    Of paths, the functions and modules that launch kernels are found, and called with arguments that are made up; this
    runs the project's code, in a sandbox. With --vary, one function is called with the sizes given: each dimension is
    varied alone, then some of the product. A part of a key that changes is told with the formula that it follows.
    """
    from triton_doctor.errors import DoctorError
    from triton_doctor.report.suffix import choose_form

    recording, report_file = (output, None) if output and output.suffix == ".jsonl" else (None, output)
    is_json = choose_form(SweepForm, output_format, report_file) is SweepForm.JSON
    # torch itself ends a process whose working directory is gone.
    Path.cwd()
    of_function = vary or fixed or search or max_compiles is not None
    of_paths = yes or no_tests or example or write_drivers or jobs or cluster or no_cache or no_sandbox
    if not of_function:
        from triton_doctor.cli.swept_paths import PathSweep, sweep_paths

        sweep_paths(
            PathSweep(
                words=tuple(paths),
                target=target,
                jobs=jobs,
                is_agreed=yes,
                has_sandbox=not no_sandbox,
                has_tests=not no_tests,
                examples=tuple(example or ()),
                is_fresh=no_cache,
                cluster=cluster,
                output=recording,
                drivers=write_drivers,
                force=force,
                is_json=is_json,
                output_file=report_file,
            )
        )
        return
    if of_paths or len(paths) > 1:
        raise DoctorError("with --vary one function is swept, here and without a sandbox", hint="leave out the others")
    sweep_function(
        paths[0],
        vary=vary or (),
        fixed=fixed or (),
        target=target,
        unknown=dry_unknown.value,
        search=search,
        kernel=kernel,
        max_compiles=max_compiles,
        output=recording,
        force=force,
        is_json=is_json,
        output_file=report_file,
    )


def sweep_function(
    function: str,
    *,
    vary: Sequence[str],
    fixed: Sequence[str],
    target: str | None,
    unknown: Literal["guess", "stop"],
    search: int,
    kernel: str,
    max_compiles: int | None,
    output: Path | None,
    force: bool,
    is_json: bool,
    output_file: Path | None,
) -> None:
    """Sweep one function that takes the dimensions as keywords."""
    import contextlib
    import json
    import sys

    from triton_doctor.cli.streams import write_report
    from triton_doctor.errors import DoctorError
    from triton_doctor.runtime.dry.sweep import run_sweep
    from triton_doctor.runtime.dry.sweep.dimensions import parse_vary, read_dimensions
    from triton_doctor.runtime.dry.sweep.load_function import load_function
    from triton_doctor.runtime.dry.sweep.summary import write_recording

    dimensions = read_dimensions(parse_vary(vary), fixed)
    if output is not None and output.exists() and not force:
        raise DoctorError(f"{output} is there already", hint="--force replaces it")
    # What the function prints is no part of the report.
    with contextlib.redirect_stdout(sys.stderr):
        swept = run_sweep(lambda: load_function(function), dimensions, target=target, unknown=unknown, search=search)
    if output is not None:
        write_recording(swept.recording, output)
    if is_json:
        write_report(json.dumps(swept.to_json(), indent=2, allow_nan=False) + "\n", output_file)
    else:
        write_report(f"{swept}\n", output_file)
    if max_compiles is None:
        return
    matching = swept.of(kernel)
    if not matching:
        raise DoctorError(
            f"no kernel is called {kernel!r}: the limit was not checked",
            hint="the report lists the kernels that were launched",
        )
    try:
        swept.assert_bounded(kernel, max_compiles)
    except AssertionError as broken:
        from triton_doctor.cli.asides import print_detail, print_message

        first, *rest = str(broken).splitlines()
        print_message(first)
        for line in rest:
            print_detail(line.strip())
        exceeded = any(each.needs > max_compiles for each in matching)
        raise typer.Exit(FOUND if exceeded else STOPPED) from None

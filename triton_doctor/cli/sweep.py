"""`triton-doctor sweep MODULE:FUNCTION --vary NAME=SIZES`: which dimension moves which part of a kernel's key."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

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
    function: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:FUNCTION", help="A function that takes the dimensions as keywords; or FILE.py:."
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
        Unknown, typer.Option(help="Guess a value that only a GPU could give, or stop there.")
    ] = Unknown.GUESS,
    search: Annotated[
        int, typer.Option(min=0, metavar="N", help="Look for variants not yet seen at N more sizes, by hypothesis.")
    ] = 0,
    kernel: Annotated[str, typer.Option(metavar="GLOB", help="The kernels that --max-compiles is about.")] = "*",
    max_compiles: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Exit with 1 if a kernel needs more variants for a model.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Keep the recording, for check --recording.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file that -o names, if there is one.")] = False,
    output_format: Annotated[SweepForm, typer.Option(help="The form of the report.")] = SweepForm.TEXT,
    output_file: Annotated[Path | None, typer.Option(help="Write the report there.", show_default="to stdout")] = None,
) -> None:
    """Call a function at many sizes, without a GPU, and say which sizes make its kernels compile again, and how often.

    Each dimension is varied alone, then some of the product; a part of a key that changes is told with the dimensions
    and the formula that it follows, and whether its values are bounded.
    """
    import contextlib
    import json
    import sys

    from triton_doctor.cli.streams import write_report
    from triton_doctor.errors import DoctorError
    from triton_doctor.runtime.dry.sweep import run_sweep
    from triton_doctor.runtime.dry.sweep.dimensions import parse_vary, read_dimensions
    from triton_doctor.runtime.dry.sweep.functions import load_function
    from triton_doctor.runtime.dry.sweep.summary import write_recording

    # torch itself ends a process whose working directory is gone.
    Path.cwd()
    dimensions = read_dimensions(parse_vary(vary or []), fixed or ())
    if output is not None and output.exists() and not force:
        raise DoctorError(f"{output} is there already", hint="--force replaces it")
    # What the function prints is no part of the report.
    with contextlib.redirect_stdout(sys.stderr):
        swept = run_sweep(
            lambda: load_function(function), dimensions, target=target, unknown=dry_unknown.value, search=search
        )
    if output is not None:
        write_recording(swept.recording, output)
    if output_format is SweepForm.JSON:
        write_report(json.dumps(swept.to_json(), indent=2, allow_nan=False) + "\n", output_file)
    else:
        write_report(f"{swept}\n", output_file)
    if max_compiles is None:
        return
    matching = swept.of(kernel)
    if not matching:
        raise DoctorError(
            f"no kernel is called {kernel!r}: the limit was not checked", hint="the report names those launched"
        )
    try:
        swept.assert_bounded(kernel, max_compiles)
    except AssertionError as broken:
        from triton_doctor.cli.asides import say, say_more

        first, *rest = str(broken).splitlines()
        say(first)
        for line in rest:
            say_more(line.strip())
        exceeded = any(each.needs > max_compiles for each in matching)
        raise typer.Exit(FOUND if exceeded else STOPPED) from None

"""`triton-doctor sweep`: which dimension moves which part of a kernel's key, of one function or of a whole project."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from triton_doctor.runtime.dry.sweep.swept import Sweep

FOUND, STOPPED = 1, 2


class SweepForm(StrEnum):
    """The forms of `sweep --output-format`."""

    TEXT = "text"
    JSON = "json"


class Unknown(StrEnum):
    """What to do where a program needs a value that a dry run does not have."""

    GUESS = "guess"
    STOP = "stop"


Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH... | MODULE:FUNCTION",
        help="Files and folders, or file.py:entry; with --vary a function that takes the dimensions as keywords.",
    ),
]
Vary = Annotated[
    list[str] | None, typer.Option(metavar="NAME=SIZES", help="A dimension: length=1..4096, or batch=1,2,8.")
]
Fixed = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="A dimension that is a size of the model, not of a call.")
]
Target = Annotated[
    str | None, typer.Option("--target", metavar="TARGET", help="The GPU to pretend: cuda:90, or cuda:90,sms=132.")
]
DryUnknown = Annotated[
    Unknown, typer.Option(help="Guess a value that only a GPU could give, or stop there. With --vary.")
]
Search = Annotated[
    int, typer.Option(min=0, metavar="N", help="Look for variants not yet seen at N more sizes. With --vary.")
]
Kernel = Annotated[str, typer.Option(metavar="GLOB", help="The kernels that --max-compiles is about.")]
MaxCompiles = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="N", help="With --vary: exit with 1 if a kernel needs more variants than this for a model."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Agree that the code below PATH is run; CI=true does, too.")]
NoTests = Annotated[
    bool, typer.Option("--no-tests", help="Do not run tests and examples of the project for a minute first.")
]
Example = Annotated[
    list[str] | None,
    typer.Option(metavar="ENTRY=FILE", help="A file that calls an entry: ops.py:decode=tests/test_decode.py."),
]
WriteDrivers = Annotated[
    Path | None,
    typer.Option("--write-drivers", metavar="DIR", help="Write the calls made up as drivers and tests."),
]
Jobs = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="How many entries run at a time.", show_default="one a core")
]
Cluster = Annotated[
    str | None, typer.Option(metavar="dask:ADDRESS", help="Run entries on a cluster: dask:tcp://HOST:PORT.")
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Run each entry, also those that did not change since the last sweep.")
]
NoSandbox = Annotated[
    bool, typer.Option("--no-sandbox", help="Run the code with your rights, where no sandbox can be made.")
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Keep the recording, for check --recording (.jsonl), or write the report there (.json, .txt).",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what -o or --write-drivers names.")]
OutputFormat = Annotated[
    SweepForm | None, typer.Option(help="The form of the report.", show_default="text, or as FILE is named")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSweep:
    """The options of `sweep MODULE:FUNCTION`. `output` is the recording, `output_file` the report."""

    function: str
    vary: tuple[str, ...]
    fixed: tuple[str, ...]
    target: str | None
    unknown: Unknown
    search: int
    kernel: str
    max_compiles: int | None
    output: Path | None
    force: bool
    is_json: bool
    output_file: Path | None


def sweep(
    paths: Paths,
    vary: Vary = None,
    fixed: Fixed = None,
    target: Target = None,
    dry_unknown: DryUnknown = Unknown.GUESS,
    search: Search = 0,
    kernel: Kernel = "*",
    max_compiles: MaxCompiles = None,
    yes: Yes = False,
    no_tests: NoTests = False,
    example: Example = None,
    write_drivers: WriteDrivers = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    no_cache: NoCache = False,
    no_sandbox: NoSandbox = False,
    output: Output = None,
    force: Force = False,
    output_format: OutputFormat = None,
) -> None:
    """Vary the sizes of calls without a GPU, and say which sizes make kernels compile again, and how often.

    Of paths, the functions and modules that launch kernels are found, and called with arguments that are made up; this
    runs the project's code, in a sandbox. With --vary, one function is called with the sizes given: each dimension is
    varied alone, then some of the product. A part of a key that changes is told with the formula that it follows.
    """
    from triton_doctor.errors import DoctorError
    from triton_doctor.report import choose_form

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
        FunctionSweep(
            function=paths[0],
            vary=tuple(vary or ()),
            fixed=tuple(fixed or ()),
            target=target,
            unknown=dry_unknown,
            search=search,
            kernel=kernel,
            max_compiles=max_compiles,
            output=recording,
            force=force,
            is_json=is_json,
            output_file=report_file,
        )
    )


def sweep_function(request: FunctionSweep) -> None:
    """Sweep one function that takes the dimensions as keywords. Raises `typer.Exit` where a limit is exceeded."""
    import contextlib
    import json
    import sys

    from triton_doctor.cli.streams import write_report
    from triton_doctor.errors import DoctorError
    from triton_doctor.runtime.dry.sweep import run_sweep
    from triton_doctor.runtime.dry.sweep.dimensions import parse_vary, read_dimensions
    from triton_doctor.runtime.dry.sweep.load_function import load_function
    from triton_doctor.runtime.dry.sweep.summary import write_recording

    output = request.output
    dimensions = read_dimensions(parse_vary(request.vary), request.fixed)
    if output is not None and output.exists() and not request.force:
        raise DoctorError(f"{output} is there already", hint="--force replaces it")
    # What the function prints is no part of the report.
    with contextlib.redirect_stdout(sys.stderr):
        swept = run_sweep(
            lambda: load_function(request.function),
            dimensions,
            target=request.target,
            unknown=request.unknown.value,
            search=request.search,
        )
    if output is not None:
        write_recording(swept.recording, output)
    text = json.dumps(swept.to_json(), indent=2, allow_nan=False) if request.is_json else str(swept)
    write_report(f"{text}\n", request.output_file)
    if request.max_compiles is not None:
        require_bounded(swept, request.kernel, request.max_compiles)


def require_bounded(swept: Sweep, kernel: str, max_compiles: int) -> None:
    """Raise `typer.Exit` where a kernel of the name `kernel` needs more variants, or the limit cannot be checked."""
    from triton_doctor.cli.messages import print_detail, print_message
    from triton_doctor.errors import DoctorError

    matching = swept.of(kernel)
    if not matching:
        raise DoctorError(
            f"no kernel is called {kernel!r}: the limit was not checked",
            hint="the report lists the kernels that were launched",
        )
    try:
        swept.assert_bounded(kernel, max_compiles)
    except AssertionError as broken:
        first, *rest = str(broken).splitlines()
        print_message(first)
        for line in rest:
            print_detail(line.strip())
        exceeded = any(each.needs > max_compiles for each in matching)
        raise typer.Exit(FOUND if exceeded else STOPPED) from None

"""`triton-doctor run PROGRAM`: what its kernels do, counted while it runs."""

from typing import Annotated

import typer

RUN_USAGE = "[OPTIONS] PROGRAM [ARGUMENTS]..."
# What belongs to the program is not ours to read; `run_command` reads the rest.
RUN_CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}

Output = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="PATH",
        help="Keep the recording (.jsonl, or a folder), or write the report (.html, .md, .json).",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="TARGET",
        help="The GPU to compile for, and run nothing; with --dry, the one to pretend: cuda:90.",
    ),
]
MaxCompiles = Annotated[
    str | None, typer.Option(metavar="N", help="Exit with 1 if a kernel compiles more often in a process.")
]
WarmupSeconds = Annotated[
    str | None, typer.Option(metavar="S", help="How long compiles are expected, from the first launch.")
]
WarmWhen = Annotated[
    str | None,
    typer.Option(metavar="port:N|URL|line:REGEX|call", help="Until when compiles are expected: what says ready."),
]
MaxCompilesAfterWarmup = Annotated[
    str | None, typer.Option(metavar="N", help="Exit with 1 if a kernel compiles more often after that.")
]
Dry = Annotated[
    bool, typer.Option("--dry", help="Run without a GPU, without data and without compiling; the counts are exact.")
]
DryUnknown = Annotated[
    str | None, typer.Option(metavar="guess|stop", help="What to do where a dry run needs data: guess, or stop.")
]
DryWrites = Annotated[
    str | None,
    typer.Option(metavar="overlay|allow", help="Whether a dry run may replace and remove files that are there."),
]
WorldSize = Annotated[
    str | None, typer.Option(metavar="N", help="Run dry as one of N processes, whose collectives move nothing.")
]
Rank = Annotated[str | None, typer.Option(metavar="R", help="Which of them: 0 to N-1.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the file that -o names, if there is one.")]
Live = Annotated[
    bool, typer.Option("--live", help="Tell each compile as it happens, with its cause, and what takes long.")
]


def run(
    context: typer.Context,
    output: Output = None,
    target: Target = None,
    max_compiles: MaxCompiles = None,
    warmup_seconds: WarmupSeconds = None,
    warm_when: WarmWhen = None,
    max_compiles_after_warmup: MaxCompilesAfterWarmup = None,
    dry: Dry = False,
    dry_unknown: DryUnknown = None,
    dry_writes: DryWrites = None,
    world_size: WorldSize = None,
    rank: Rank = None,
    force: Force = False,
    live: Live = False,
) -> None:
    """Run a program and report which kernels compiled, why, what it cost and what to change.

    There are two ways to be without a GPU. With --dry, tensors on `cuda` have no data and nothing is compiled: for any
    program. With --target alone, kernels are compiled and not run: for programs whose tensors are on the CPU.

    PROGRAM is a script, `-m` and a module, `-c` and code, or a command by its name; processes that it starts are
    followed. The report goes to stderr, and the exit status is the program's. It is 1 where it would be 0 and a limit
    is exceeded, and 2 where the program could not be started or a limit could not be checked.
    """
    from triton_doctor.run_command import run_command

    given = [
        ("--output", output),
        ("--target", target),
        ("--max-compiles", max_compiles),
        ("--warmup-seconds", warmup_seconds),
        ("--warm-when", warm_when),
        ("--max-compiles-after-warmup", max_compiles_after_warmup),
        ("--dry-unknown", dry_unknown),
        ("--dry-writes", dry_writes),
        ("--world-size", world_size),
        ("--rank", rank),
    ]
    ours = [f"{name}={value}" for name, value in given if value is not None] + ["--live"] * live + ["--force"] * force
    ours += ["--dry"] * dry
    status = run_command([*ours, "--", *context.args])
    raise typer.Exit(status if status >= 0 else 128 - status)

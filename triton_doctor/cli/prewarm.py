"""`triton-doctor prewarm RECORDINGS...`: compile what recordings name before a program needs it, without a GPU."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor

    from triton_doctor.evidence.cover import Cover
    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant
    from triton_doctor.runtime.prewarm.prewarm_plan import PrewarmPlan
    from triton_doctor.runtime.recording import Recording

FOUND, STOPPED = 1, 2


def prewarm(
    recordings: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RECORDINGS...", help="Recordings, real or dry, folders of them, and logs of the same server."
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            metavar="TARGET",
            help="Compile for cuda:90, or hip:gfx942; may be repeated.",
            show_default="as recorded",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="How many processes compile.", show_default="one a core")
    ] = None,
    from_tests: Annotated[
        bool, typer.Option("--from-tests", help="Record the project's tests in a dry run first.")
    ] = False,
    recorded_only: Annotated[bool, typer.Option("--recorded-only", help="Add nothing to what was recorded.")] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Compile nothing: exit with 1 if the cache misses a variant or has others, or if the recordings do "
            "not cover what the program can launch.",
        ),
    ] = False,
    src: Annotated[
        list[Path] | None,
        typer.Option(
            "--src", help="Read the program's source there.", show_default="the recorded script and its kernels"
        ),
    ] = None,
    list_keys: Annotated[
        bool, typer.Option("--list", help="Compile nothing: print the key space of each kernel as JSON.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="PATH", help="Also write what was recorded and added as a recording."),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="dask:ADDRESS", help="Compile on a cluster: dask:tcp://HOST:PORT.")
    ] = None,
    cache_dir: Annotated[
        Path | None, typer.Option("--cache-dir", help="The cache folder.", show_default="where Triton would look")
    ] = None,
) -> None:
    """Compile every variant that recordings name, in parallel and without a GPU, into Triton's cache.

    What the source of the program shows that it will need is added, and classes of arguments that the run is likely to
    have missed. What is in the cache already is not compiled again, so a prewarming that was interrupted goes on where
    it was.
    """
    import json
    import os

    from triton_doctor.cli.recorded import read_named
    from triton_doctor.errors import DoctorError
    from triton_doctor.machine.cache_folder import locate_cache
    from triton_doctor.report.prewarm import cover_object

    paths, logs = find_recordings(recordings or (), from_tests=from_tests)
    if logs and recorded_only:
        raise DoctorError(f"{logs[0]} is no recording", hint="a log adds to recorded keys: leave out --recorded-only")
    recorded = read_named(paths)
    require_triton(target or ())
    plan, cover = make_covered_plan(recorded.processes, logs, src or (), target or (), closed=not recorded_only)
    if list_keys:
        typer.echo(json.dumps(cover_object(cover), indent=2, default=str))
        raise typer.Exit(0 if recorded.whole else STOPPED)
    if output is not None:
        write_plan(plan, recorded.processes, output, (*paths, *logs))
    print_differences(plan)
    folder = cache_dir.absolute() if cache_dir else locate_cache(os.environ).path
    whole = check_cache(plan, folder, jobs, cover) if check else fill_cache(plan, folder, jobs, cluster)
    raise typer.Exit(STOPPED if not recorded.whole else 0 if whole else FOUND)


def make_covered_plan(
    recordings: "Sequence[Recording]",
    logs: "Sequence[Path]",
    sources: "Sequence[Path]",
    targets: "Sequence[str]",
    *,
    closed: bool,
) -> "tuple[PrewarmPlan, Cover]":
    """Return what to compile, and what `recordings` and `logs` lack; nothing where not `closed`.

    Raises DoctorError for recordings without kernels, and for logs and sources that cannot be read.
    """
    from triton_doctor.cli.cover import find_cover
    from triton_doctor.errors import DoctorError
    from triton_doctor.evidence.cover import Cover
    from triton_doctor.runtime.engine_logs import read_log
    from triton_doctor.runtime.prewarm.logged_variants import variants_in_log
    from triton_doctor.runtime.prewarm.prewarm_plan import make_plan

    logged = [line for log in logs for line in read_log(log)]
    cover = Cover()

    def foresee(variants: "Sequence[KernelVariant]") -> "Sequence[KernelVariant]":
        nonlocal cover
        served = (*variants_in_log(logged, variants),)
        cover = find_cover(recordings, (*variants, *served), sources, cwd=Path.cwd())
        return (*served, *cover.missing)

    plan = make_plan(recordings, targets=targets, closed=closed, foresee=foresee)
    if not plan.variants:
        raise DoctorError("no kernel was compiled in these recordings", hint="record a run that launches kernels")
    return plan, cover


def find_recordings(named: "Sequence[Path]", *, from_tests: bool) -> tuple[list[Path], list[Path]]:
    """Return the recordings `named`, with those of the project's tests, and the logs. Raises DoctorError for none."""
    from triton_doctor.errors import DoctorError
    from triton_doctor.runtime.engine_logs import is_log

    paths = [*named]
    if from_tests:
        from triton_doctor.cli.dry import record_dry

        paths += record_dry((), ())
    if not paths:
        raise DoctorError("there is no recording to prewarm from", hint="name one that `run -o` wrote, or --from-tests")
    logs = [path for path in paths if is_log(path)]
    if len(logs) == len(paths):
        raise DoctorError(
            f"{logs[0]} is no recording: a server's log names kernels, but not their modules, options and target",
            hint=f"name a recording that has them too; `triton-doctor report {logs[0]}` says what to warm up",
        )
    return [path for path in paths if path not in logs], logs


def check_cache(plan: "PrewarmPlan", folder: Path, jobs: int | None, cover: "Cover") -> bool:
    """Print what of `plan` the cache lacks, and return whether it lacks nothing and `cover` is proved."""
    from triton_doctor.report.prewarm import count_missed, render_check
    from triton_doctor.runtime.prewarm.prewarming import check_plan, count_jobs
    from triton_doctor.runtime.prewarm.worker import open_pool

    number = count_jobs(jobs)
    result = check_plan(plan, folder, lambda processes: open_pool(processes or number), in_flight=2 * number)
    typer.echo(render_check(result, cover), nl=False)
    return not (count_missed(result) or result.unused or cover.gaps)


def fill_cache(plan: "PrewarmPlan", folder: Path, jobs: int | None, cluster: str | None) -> bool:
    """Compile `plan` into the cache, here or on `cluster`, print the result, and return whether all succeeded."""
    from triton_doctor.cli.progress import show_progress
    from triton_doctor.report.prewarm import render_prewarmed
    from triton_doctor.runtime.prewarm.prewarming import compile_plan, count_jobs
    from triton_doctor.runtime.prewarm.worker import open_pool

    make_cache_folder(folder)
    number = count_jobs(jobs)

    def open_executor(processes: int) -> "Executor":
        return open_pool(processes or number) if client is None else client.open(processes)

    client = None
    if cluster is not None:
        from triton_doctor.runtime.prewarm.cluster import connect

        client = connect(cluster)
        number = client.threads
    with show_progress(len(plan.variants), "compiling") as advance:
        result = compile_plan(
            plan, folder, open_executor, in_flight=2 * number, is_local=client is None, on_progress=advance
        )
    typer.echo(render_prewarmed(result), nl=False)
    return result.is_whole


def write_plan(plan: "PrewarmPlan", processes: "Sequence[Recording]", output: Path, inputs: "Sequence[Path]") -> None:
    """Write `plan` as a recording. Raises DoctorError where it cannot be written, or would replace one of `inputs`."""
    from triton_doctor.cli.streams import require_output
    from triton_doctor.errors import DoctorError, reason_of
    from triton_doctor.runtime.prewarm.prewarming import record_plan

    require_output(output, (file for path in inputs for file in (path, *path.glob("*.jsonl"))))
    try:
        record_plan(plan, processes, output)
    except OSError as error:
        raise DoctorError(f"cannot write {output}: {reason_of(error)}", hint="-o names another file") from error


def require_triton(targets: list[str] | tuple[str, ...]) -> None:
    """Raise DoctorError where Triton is not installed, or one of `targets` is none."""
    from importlib.util import find_spec

    from triton_doctor.errors import DoctorError
    from triton_doctor.runtime.compile_target import parse_target

    if find_spec("triton") is None:
        raise DoctorError("triton is not installed here", hint="install triton-doctor where torch and triton are")
    for target in targets:
        parse_target(target)


def make_cache_folder(folder: Path) -> None:
    """Make the cache folder. Raises DoctorError where it cannot be written."""
    import os

    from triton_doctor.errors import DoctorError, reason_of

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DoctorError(
            f"cannot make {folder}: {reason_of(error)}", hint="--cache-dir names another folder"
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DoctorError(f"{folder} cannot be written", hint="--cache-dir names another folder")


def print_differences(plan: "PrewarmPlan") -> None:
    """Print where this Python or Triton differs from the recorded one: each has its own cache entries."""
    import sys
    from importlib.metadata import PackageNotFoundError, version

    from triton_doctor.cli.messages import print_hint, print_message

    here = {"python": ".".join(map(str, sys.version_info[:2]))}
    try:
        here["triton"] = version("triton")
    except PackageNotFoundError:
        return
    for name, recorded in plan.made_with:
        shown = ".".join(recorded.split(".")[:2]) if name == "python" else recorded.partition("+")[0]
        if shown != here[name].partition("+")[0]:
            print_message(
                f"recorded with {name} {shown}, compiled here with {here[name]}: only {name} {here[name]} finds this"
            )
            print_hint(f"prewarm where {name} is what the program will run with")

"""`triton-doctor report PATHS...`: what recordings say, or the log of a server."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triton_doctor.cli.output import OutputFile
from triton_doctor.report.recording import RunForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.runtime.recording import Recording

FOUND, STOPPED = 1, 2


def report(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATHS", help="Recordings, and folders of them; or logs of servers.", show_default="the latest"
        ),
    ] = None,
    output_format: Annotated[
        RunForm | None, typer.Option(help="The form of the report.", show_default="text, or as FILE is named")
    ] = None,
    output: OutputFile = None,
    open_page: Annotated[bool, typer.Option("--open", help="Show the page in a browser.")] = False,
    kernel: Annotated[str, typer.Option(metavar="GLOB", help="Only kernels whose name matches.")] = "*",
    since: Annotated[
        str | None,
        typer.Option(metavar="warmup|SECONDS", help="Only what happened after the warm-up, or after so many seconds."),
    ] = None,
    pack: Annotated[
        list[Path] | None,
        typer.Option(help="Say why compiles were not found in this pack.", show_default="packs that the run used"),
    ] = None,
    cover: Annotated[
        bool,
        typer.Option(
            "--cover", help="Report what the program can launch and the recordings lack; exit with 1 for any."
        ),
    ] = False,
    src: Annotated[
        list[Path] | None,
        typer.Option(
            "--src",
            help="Where to read source: with --cover, and of the kernels that a log names.",
            show_default="with --cover the recorded script and its kernels, else .",
        ),
    ] = None,
) -> None:
    """Report where the time of recorded runs went: compiling, loading, tuning; by kernel, with causes and advice."""
    from triton_doctor.cli.recorded import read_named
    from triton_doctor.cli.streams import require_output, write_report
    from triton_doctor.errors import DoctorError, working_folder
    from triton_doctor.report import choose_form
    from triton_doctor.report.recording import render_account
    from triton_doctor.report.recording.choice import choose, sort_kernels
    from triton_doctor.report.recording.unserved import explain_unserved
    from triton_doctor.runtime.account import account
    from triton_doctor.runtime.engine_logs import is_log
    from triton_doctor.terminal import color_report, width_of_report

    if open_page and cover:
        raise DoctorError("--open shows the report, and --cover has no page", hint="leave one out")
    paths = paths or [find_recorded()]
    if open_page and output is None:
        output = folder_of_page(paths[0]) / "report.html"
    require_output(output, (file for path in paths for file in (path, *path.glob("*.jsonl"))))
    form = choose_form(RunForm, output_format, output)
    if any(map(is_log, paths)):
        write_report(read_logs(paths, src or [Path()], form), output)
        raise typer.Exit(0)
    recorded = read_named(paths)
    processes = choose(recorded.processes, kernel=kernel, since=since)
    if cover:
        text, whole = render_cover_of(processes, src or [], is_json=form is RunForm.JSON)
        write_report(text, output)
        raise typer.Exit(STOPPED if not recorded.whole else 0 if whole else FOUND)
    to_file = output is not None
    text = render_account(
        sort_kernels(account(processes)),
        form,
        recordings=processes,
        cwd=Path(working_folder()),
        color=color_report(to_file=to_file),
        width=width_of_report(to_file=to_file),
        unserved=explain_unserved(processes, pack or []),
    )
    write_report(text.lstrip("\n"), output)
    if open_page and output is not None:
        show_page(output)
    raise typer.Exit(0 if recorded.whole else STOPPED)


def find_recorded() -> Path:
    """Return the latest run that was kept. Raises DoctorError where there is none."""
    from triton_doctor.cli.messages import print_message
    from triton_doctor.errors import DoctorError, working_folder
    from triton_doctor.runtime.kept_runs import find_latest

    latest = find_latest(working_folder())
    if latest is None:
        raise DoctorError(
            "there is no recording here", hint="`triton-doctor run PROGRAM` makes one; or name one that `run -o` wrote"
        )
    print_message(f"the latest run: {latest}")
    return Path(latest)


def folder_of_page(path: Path) -> Path:
    """Return where the page of the recording at `path` is written: with a kept run, else in a temporary folder."""
    import tempfile

    from triton_doctor.runtime.kept_runs import LOCK

    return path if (path / LOCK).exists() else Path(tempfile.mkdtemp(prefix="triton-doctor-page-"))


def show_page(path: Path) -> None:
    """Open the page at `path` in a browser, and print where it is."""
    import webbrowser

    from triton_doctor.cli.messages import print_message

    opened = webbrowser.open(path.resolve().as_uri())
    print_message(f"the page is {path}" if opened else f"no browser was found: the page is {path}")


def render_cover_of(processes: "Sequence[Recording]", sources: list[Path], *, is_json: bool) -> tuple[str, bool]:
    """Return what `processes` lack, as text or JSON, and whether that is nothing."""
    import json

    from triton_doctor.cli.cover import find_cover
    from triton_doctor.report.prewarm import cover_object, render_cover
    from triton_doctor.runtime.prewarm.kernel_variants import gather_variants

    found = find_cover(processes, gather_variants(processes).variants, sources, cwd=Path.cwd())
    text = json.dumps(cover_object(found), indent=2, default=str) + "\n" if is_json else render_cover(found)
    return text, found.is_whole


def read_logs(paths: list[Path], sources: list[Path], output_format: RunForm) -> str:
    """Render the report on the logs at `paths`. Raises DoctorError for other files and unsupported forms."""
    from triton_doctor.errors import DoctorError, working_folder
    from triton_doctor.evidence.logged import explain_logged
    from triton_doctor.report.engine_log import render_log, render_log_json
    from triton_doctor.runtime.engine_logs import is_log, read_log
    from triton_doctor.settings import load_settings

    if recording := next((path for path in paths if not is_log(path)), None):
        raise DoctorError(f"{recording} is no log, and others here are", hint="report on logs and recordings in turn")
    if output_format not in (RunForm.TEXT, RunForm.JSON):
        raise DoctorError(f"a log has no form {output_format.value}", hint="a log is reported as text or json")
    if missing := next((path for path in sources if not path.exists()), None):
        raise DoctorError(f"cannot read {missing}: no such file or directory", hint="--src names the sources")
    logged = [line for path in paths for line in read_log(path)]
    cwd = Path(working_folder())
    kernels = explain_logged(logged, [(cwd / path).resolve() for path in sources], load_settings(sources[0]), cwd)
    return render_log_json(kernels) if output_format is RunForm.JSON else render_log(kernels)

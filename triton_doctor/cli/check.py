"""`triton-doctor check PATHS...`: what reading the source predicts."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from triton_doctor.cli.adoption import (
    AddIgnoreOption,
    BaselineOption,
    ChangedOption,
    DryCommandOption,
    DryOption,
    RecordingOption,
    WriteBaselineOption,
)
from triton_doctor.cli.asides import say
from triton_doctor.cli.fixing import Diff, Fix, FixChoice, FixOnly, ShowFixes, Target, UnsafeFixes, Verify, fix_files
from triton_doctor.report import Form, Show

CLEAN, FOUND, STOPPED = 0, 1, 2
STDIN = "-"


class Level(StrEnum):
    """The words of `--fail-on`."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Color(StrEnum):
    """The words of `--color`."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def check(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATHS]...", help="Files and folders; - reads one file from stdin.", show_default="."),
    ] = None,
    output_format: Annotated[Form, typer.Option(help="The form of the report.")] = Form.FULL,
    output_file: Annotated[Path | None, typer.Option(help="Write the report there.", show_default="to stdout")] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="CODES", help="Codes or prefixes to look for: TRD2,TRD101.", show_default="all"),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="CODES", help="Codes or prefixes to leave out.", show_default="none")
    ] = None,
    fail_on: Annotated[
        Level | None, typer.Option(help="The least severity that makes the exit status 1.", show_default="warning")
    ] = None,
    triton_version: Annotated[
        str | None,
        typer.Option(metavar="X.Y", help="The Triton that the code is for.", show_default="the newest known"),
    ] = None,
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit with 0 whatever is found.")] = False,
    show: Annotated[
        list[Show] | None,
        typer.Option(
            help="What the form full leaves out: info lists infos, undecided the constexprs that no launch "
            "decides, all shows the code of each cause too.",
            show_default="none",
        ),
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="List the hints that decided below each finding, with weight and place.")
    ] = False,
    statistics: Annotated[bool, typer.Option("--statistics", help="Show counts by rule only.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="List the launches whose kernel was not found, and why.")
    ] = False,
    stdin_filename: Annotated[
        Path | None, typer.Option(help="The path that the file from stdin stands for.", show_default="stdin.py")
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither read nor write the cache of earlier checks.")
    ] = False,
    color: Annotated[Color, typer.Option(help="When to use color.")] = Color.AUTO,
    baseline: BaselineOption = None,
    write_baseline: WriteBaselineOption = False,
    add_ignore: AddIgnoreOption = None,
    changed: ChangedOption = None,
    recording: RecordingOption = None,
    dry: DryOption = False,
    dry_command: DryCommandOption = None,
    fix: Fix = False,
    unsafe_fixes: UnsafeFixes = False,
    fix_only: FixOnly = False,
    diff: Diff = False,
    show_fixes: ShowFixes = False,
    verify: Verify = False,
    target: Target = "cuda:90",
    watch: Annotated[
        bool, typer.Option("--watch", help="Check again each time that a file changes, until Ctrl-C.")
    ] = False,
) -> None:
    """Find what makes kernels recompile or run in the wrong mode, by reading Python and settings files.

    Needs neither torch nor triton. The exit status is 0 for clean, 1 for found, 2 for could not do it.
    """
    given = locals() | {"watch": False}
    from triton_doctor.cli.adoption import adoption, only_changed, tell_weighing, weighing
    from triton_doctor.cli.known_findings import KnownFindings
    from triton_doctor.cli.progress import show_progress
    from triton_doctor.cli.recorded import read_named
    from triton_doctor.cli.streams import (
        choose_view,
        read_stdin,
        require_output,
        tell_limits,
        tell_unresolved_launches,
        write_report,
    )
    from triton_doctor.errors import DoctorError
    from triton_doctor.finding import Severity
    from triton_doctor.report import render
    from triton_doctor.report.concise import render_statistics
    from triton_doctor.selection import is_selected
    from triton_doctor.settings import load_settings, override, severity
    from triton_doctor.static.project.cache.store import CacheStore
    from triton_doctor.static.scan import Scan, scan, show_scan
    from triton_doctor.static.sources.workspace import find_workspace
    from triton_doctor.variables import parse_version

    if statistics and output_format not in (Form.FULL, Form.CONCISE):
        raise DoctorError(f"--statistics does not go with --output-format {output_format}", hint="leave one out")
    if why and (statistics or output_format is not Form.FULL):
        raise DoctorError("--why goes with the form full alone", hint="json and sarif always have the hints")
    asked = paths or ["."]
    if "" in asked:
        raise DoctorError("a path is empty", hint="a variable that is not set, perhaps; . is the working directory")
    from_stdin = STDIN in asked
    if from_stdin and len(asked) > 1:
        raise DoctorError("- stands for stdin, and other paths were given", hint="give it alone")
    if stdin_filename and not from_stdin:
        raise DoctorError("--stdin-filename goes with the path -", hint="triton-doctor check --stdin-filename a.py -")
    choice = FixChoice(
        fix=fix, unsafe=unsafe_fixes, only=fix_only, diff=diff, show=show_fixes, verify=verify, target=target
    )
    if watch:
        from triton_doctor.cli.watching import watch as watch_files

        if from_stdin or choice.wanted or write_baseline or add_ignore is not None or dry:
            raise DoctorError(
                "--watch only reports, again and again", hint="leave out what edits, records or reads stdin"
            )
        watch_files(asked, partial(check, **given))
    choice.require_sense(from_stdin=from_stdin, otherwise=write_baseline or add_ignore is not None)
    cwd = Path.cwd()
    first = stdin_filename or Path("stdin.py") if from_stdin else Path(asked[0])
    settings = override(
        load_settings(cwd / first),
        select=split_codes(select),
        ignore=split_codes(ignore),
        fail_on=severity(fail_on) if fail_on else None,
        triton_version=str(parse_version(triton_version)) if triton_version is not None else None,
    )
    wishes = adoption(
        settings,
        baseline=baseline,
        write_baseline=write_baseline,
        add_ignore=add_ignore,
        changed=changed,
        recording=recording or (),
        from_stdin=from_stdin,
    )
    dried: tuple[Path, ...] = ()
    if dry:
        from triton_doctor.cli.dry import record_dry

        dried = record_dry(dry_command or ())
    of_changed = None
    if wishes.changed is not None:
        from triton_doctor.static.sources.git_changes import changed_files

        of_changed = changed_files(map(Path, asked), wishes.changed, cwd=cwd)
    if from_stdin:
        workspace = read_stdin(stdin_filename, settings, cwd)
    else:
        workspace = find_workspace([Path(path) for path in asked], settings, cwd=cwd)
    settings, base, files = workspace.settings, workspace.base, workspace.files
    tell_limits(workspace, asked)
    baselines = () if wishes.baseline is None else (wishes.baseline,)
    require_output(output_file, (*asked, *(file.name for file in files), *wishes.recordings, *baselines))
    known = KnownFindings(wishes, workspace.reported, base)
    recorded = read_named((*wishes.recordings, *dried))
    weigh = weighing(recorded.processes, base)

    def is_on(code: str) -> bool:
        return is_selected(code, select=settings.select, ignore=settings.ignore)

    def narrow(found: Scan) -> Scan:
        new = known.new_of(found, is_on)
        return new if of_changed is None else only_changed(new, of_changed, base)

    cache = None if no_cache else CacheStore(workspace.home, map(str, (base, *workspace.read)), settings)

    def leave(status: int) -> NoReturn:
        raise typer.Exit(status if recorded.whole else STOPPED)

    with show_progress(len(files)) as on_progress:
        if choice.wanted:
            fixed = fix_files(
                workspace,
                choice,
                cwd=cwd,
                narrow=narrow,
                weigh=weigh,
                recordings=recorded.processes,
                on_progress=on_progress,
                cache=cache,
            )
            result = fixed.scan
        else:
            result = scan(
                files,
                settings,
                cwd=base,
                projects=workspace.projects,
                report_paths=workspace.report_paths,
                on_progress=on_progress,
                weigh=weigh,
                cache=cache,
            )
    tell_weighing(weigh)
    for limit in result.limits:
        say(limit)
    if verbose:
        tell_unresolved_launches(workspace, cwd)
    if choice.diff:
        leave(FOUND if fixed.files and not exit_zero else CLEAN)
    if choice.only:
        leave(CLEAN)
    if choice.wanted:
        known = KnownFindings(wishes, workspace.reported, base)  # the lines are others now
    if wishes.writes:
        known.write(result, is_on)
        leave(CLEAN)
    result = known.leave_out(result, is_on)
    if of_changed is not None:
        result = only_changed(result, of_changed, base)
    if wishes.reason is not None:
        from triton_doctor.cli.silencing import silence

        result = silence(result, wishes.reason, base)
    shown = frozenset({*(show or ()), *((Show.INFO,) if settings.fail_on is Severity.INFO else ())})
    view = choose_view(workspace, color, cwd=cwd, to_file=output_file is not None, show=shown, why=why)
    result = show_scan(result, base, cwd)
    text = render_statistics(result) if statistics else render(result, output_format, view)
    write_report(text, output_file)
    failed = any(finding.severity >= settings.fail_on for finding in result.findings)
    leave(FOUND if failed and not exit_zero else CLEAN)


def split_codes(values: list[str] | None) -> tuple[str, ...]:
    """The codes of an option that can be repeated and can list several: `--select TRD1,TRD2 --select TRD3`."""
    return tuple(code.strip() for value in values or () for code in value.split(","))

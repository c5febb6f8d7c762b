"""`triton-doctor env`: the facts of this machine, what is wrong with it, and how to put it right."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triton_doctor.cli.check import Level
from triton_doctor.cli.output import OutputFile
from triton_doctor.report import MachineForm

if TYPE_CHECKING:
    from triton_doctor.variables import Version

CLEAN, FOUND = 0, 1


def env(
    word: Annotated[
        str | None, typer.Argument(metavar="WORD", help="With --variables: only those whose name or effect has it.")
    ] = None,
    output_format: Annotated[
        MachineForm | None, typer.Option(help="The form of the report.", show_default="text, or as FILE is named")
    ] = None,
    output: OutputFile = None,
    fail_on: Annotated[
        Level | None, typer.Option(help="The least severity that makes the exit status 1.", show_default="warning")
    ] = None,
    triton_version: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="Judge variables as this Triton reads them.", show_default="installed"),
    ] = None,
    env_file: Annotated[
        Path | None, typer.Option(help="Look at the variables of this file.", show_default="this process's")
    ] = None,
    pid: Annotated[
        int | None,
        typer.Option(metavar="N", help="Look at the variables that process N began with.", show_default="this one's"),
    ] = None,
    variables: Annotated[bool, typer.Option("--variables", help="List every variable that this Triton reads.")] = False,
) -> None:
    """Show the facts of this machine, what is wrong with it, and what to do about it.

    Changes nothing. Values of variables that are not about Triton, CUDA, ROCm or torch are never shown, and secrets
    are masked.
    """
    import os

    from triton_doctor.cli.streams import choose_view, require_output, write_report
    from triton_doctor.errors import DoctorError, working_folder
    from triton_doctor.machine.diagnose import diagnose, version_of
    from triton_doctor.machine.probe import probe, read_env_file, read_process
    from triton_doctor.report import choose_form
    from triton_doctor.report.machine import render_machine
    from triton_doctor.selection import is_selected
    from triton_doctor.settings import load_settings, override, severity
    from triton_doctor.variables import parse_version

    if word is not None and not variables:
        raise DoctorError(f"env takes no `{word}`", hint=f"`triton-doctor env --variables {word}`")
    if env_file is not None and pid is not None:
        raise DoctorError("--env-file does not go with --pid", hint="leave one out")
    require_output(output, [] if env_file is None else [env_file])
    form = choose_form(MachineForm, output_format, output)
    asked = parse_version(triton_version) if triton_version else None
    if variables:
        write_report(list_variables(word, asked, form), output)
        return
    here = Path(working_folder())
    settings = override(load_settings(here), select=(), ignore=(), fail_on=severity(fail_on) if fail_on else None)
    environment = dict(os.environ)
    if env_file is not None:
        environment |= read_env_file(env_file)
    elif pid is not None:
        environment = read_process(pid, Path("/proc"))
    machine = probe(environment)
    findings = [
        finding
        for finding in diagnose(machine, asked)
        if is_selected(finding.code, select=settings.select, ignore=settings.ignore)
    ]
    view = choose_view(None, cwd=here, to_file=output is not None)
    read_as = asked or version_of(machine)
    text = render_machine(machine, findings, read_as, form, color=view.color, width=view.width)
    write_report(text, output)
    failed = any(finding.severity >= settings.fail_on for finding in findings)
    raise typer.Exit(FOUND if failed else CLEAN)


def list_variables(word: str | None, asked: "Version | None", form: MachineForm) -> str:
    """Render the variables that Triton `asked`, or the installed one, reads; only those about `word` if given."""
    from triton_doctor.errors import DoctorError
    from triton_doctor.machine.diagnose import version_of
    from triton_doctor.machine.facts import Machine
    from triton_doctor.machine.probe_installation import find_package, find_tritons
    from triton_doctor.report.machine import render_variables
    from triton_doctor.variables import variables

    installed = find_package("triton", find_tritons())
    version = asked or version_of(Machine(triton=installed))
    rows = [
        variable
        for variable in variables().values()
        if variable.first is not None
        and variable.read_by(version)
        and (word is None or word.lower() in f"{variable.name} {variable.effect}".lower())
    ]
    if not rows:
        raise DoctorError(f"triton {version} reads no variable about `{word}`", hint="`triton-doctor env --variables`")
    return render_variables(rows, version, form)

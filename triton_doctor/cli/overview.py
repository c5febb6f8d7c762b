"""`triton-doctor` alone: what this folder and this machine look like, in a screen, and what to type next."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from triton_doctor.cli.progress import show_progress
from triton_doctor.cli.streams import describe_limits
from triton_doctor.errors import DoctorError, working_folder
from triton_doctor.finding import Severity
from triton_doctor.machine.diagnose import diagnose
from triton_doctor.machine.probe import probe
from triton_doctor.phrases import plural
from triton_doctor.report.concise import count_rules, summarize
from triton_doctor.report.machine import summarize as summarize_machine
from triton_doctor.rulebook import rule_name
from triton_doctor.runtime.kept_runs import NAME as KEPT
from triton_doctor.runtime.kept_runs import list_runs
from triton_doctor.selection import is_selected
from triton_doctor.settings import load_settings
from triton_doctor.static.project.cache.store import CacheStore
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.workspace import find_project, find_workspace
from triton_doctor.terminal import escape_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.settings import Settings
    from triton_doctor.static.scan import Scan

RULES_SHOWN, PROBLEMS_SHOWN, RECORDINGS_SHOWN = 5, 3, 3
WIDTH, INDENT = 80, " " * 4


def show_overview() -> None:
    """Print the summary of the working directory and the machine. Judges nothing: the exit status is 0."""
    cwd = Path(working_folder())
    settings = load_settings(cwd)
    for line in (*describe_machine(settings), "", *describe_project(cwd, settings), "", *describe_recordings(cwd)):
        typer.echo("\n".join(textwrap.wrap(line, WIDTH, subsequent_indent=INDENT)))


def describe_machine(settings: Settings) -> Iterator[str]:
    """Yield the verdict of `env` and its worst findings."""
    machine = probe(dict(os.environ))
    findings = [
        finding
        for finding in diagnose(machine)
        if is_selected(finding.code, select=settings.select, ignore=settings.ignore)
    ]
    triton = f"triton {machine.triton.version}" if machine.triton is not None else "no triton"
    gpu = machine.gpus[0].name if machine.gpus else "no GPU"
    yield escape_text(f"Machine: {triton}, {gpu}; {summarize_machine(machine, findings)}")
    problems = [finding for finding in findings if finding.severity > Severity.INFO]
    for finding in problems[:PROBLEMS_SHOWN]:
        yield escape_text(f"  {finding.severity.label}: {finding.code} {finding.message}")
    if problems:
        yield "  triton-doctor env                     how to mend it"


def describe_project(cwd: Path, settings: Settings) -> Iterator[str]:
    """Yield what `check` finds here, where this is a project."""
    if not find_project(cwd, cwd).is_marked:
        yield "Project: none here (no pyproject.toml, setup.py or .git)"
        yield "  triton-doctor check PATH              what will recompile in a file or folder"
        return
    result = check_folder(cwd, settings)
    kernels, launches = result.summary.kernels, result.summary.launches
    yield f"Project: {plural(kernels, 'kernel')}, {plural(launches, 'launch', 'launches')}; {summarize(result)}"
    rules = count_rules(finding for finding in result.findings if finding.severity > Severity.INFO)
    for count, code in rules[:RULES_SHOWN]:
        yield f"  {count:>4,}  {code} {rule_name(code)}"
    yield "  triton-doctor check                   where, why, and how to mend it"
    yield "  triton-doctor run --dry -m pytest     what would compile, without a GPU"


def check_folder(cwd: Path, settings: Settings) -> Scan:
    """Scan the working directory as `check` does."""
    workspace = find_workspace([cwd], settings, cwd=cwd)
    describe_limits(workspace, ["."])
    cache = CacheStore.of(workspace)
    with show_progress(len(workspace.files)) as on_progress:
        return scan(
            workspace.files,
            workspace.settings,
            cwd=workspace.base,
            projects=workspace.projects,
            report_paths=workspace.report_paths,
            on_progress=on_progress,
            cache=cache,
        )


def describe_recordings(cwd: Path) -> Iterator[str]:
    """Yield which recordings lie in the working directory, the latest first."""
    runs = list_runs(str(cwd / KEPT))
    if runs:
        yield f"Recordings: {plural(len(runs), 'run')} of this folder"
        yield "  triton-doctor report                  where the time went, and what to do"
        yield "  triton-doctor report --open           the same as a page"
        return
    found = sorted(find_recordings(cwd), key=lambda path: path.stat().st_mtime, reverse=True)
    if not found:
        yield "Recordings: none in this folder"
        yield "  triton-doctor run train.py            what did compile, and why"
        return
    names = ", ".join(path.name for path in found[:RECORDINGS_SHOWN])
    yield escape_text(f"Recordings: {plural(len(found), 'file')} here, the latest: {names}")
    yield escape_text(f"  triton-doctor report {found[0].name}")


def find_recordings(folder: Path) -> Iterator[Path]:
    """Yield the files in `folder` that begin as a recording does."""
    from triton_doctor.runtime.recording_files import read_recordings

    for path in folder.glob("*.jsonl"):
        try:
            if path.is_file() and read_recordings([path]).processes:
                yield path
        except DoctorError:
            continue

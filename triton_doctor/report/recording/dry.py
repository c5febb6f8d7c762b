"""What a report says of a dry run alone: what was guessed, where it stopped, and what the program was told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.phrases import plural
from triton_doctor.report.recording.wording import place
from triton_doctor.scan_caches import emptying_scan_caches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.runtime.account import Account
    from triton_doctor.runtime.event import GuessEvent

QUESTIONS_SHOWN, KERNELS_SHOWN = 20, 20
# A project of so many files is read in some seconds.
FILES_READ = 5_000
NOT_LISTED = "not listed: files and connections that compiled code or another program opened"
NOT_KNOWN = (
    "times and speeds, what kernels compute, which config of a round of tuning wins, and whether a variant compiles "
    "and has room"
)


def describe_guesses(account: Account, cwd: Path) -> Iterator[str]:
    """Yield the values that a dry run had to guess and where, most frequent first, and how many variants follow."""
    if account.dry is not None:
        yield from _describe_questions(account.dry.guesses, cwd)
        guessed = sum(kernel.guessed for kernel in account.kernels)
        if guessed:
            yield f"{plural(guessed, 'variant')} came after a guess"


def describe_never_reached(account: Account, cwd: Path) -> Iterator[str]:
    """Yield the kernels that the project around `cwd` launches and this run did not, apart from tests and examples.

    Nothing if the kernels that ran are of another project.
    """
    if account.dry is None:
        return
    from triton_doctor.settings import load_settings
    from triton_doctor.static.project.analysis.parts import whole_project
    from triton_doctor.static.project.database.database import Database
    from triton_doctor.static.sources.workspace import find_workspace

    try:
        workspace = find_workspace([cwd], load_settings(cwd), cwd=cwd)
    except DoctorError as error:
        yield f"not listed: {error.message}"
        return
    paths = {Path(kernel.kernel.path).as_posix() for kernel in account.kernels}
    if paths and not any(Path(path).is_relative_to(workspace.base) for path in paths):
        return
    if len(workspace.files) > FILES_READ:
        yield f"not listed: the project has more than {FILES_READ:,} files"
        return
    with emptying_scan_caches():
        project = whole_project(Database(workspace.files), workspace.settings, workspace.base)
        launched = {
            (workspace.base / kernel.path, kernel.line, kernel.name)
            for launch in project.launches
            if launch.module.path not in project.tests and launch.module.path not in project.demonstrations
            for kernel in launch.kernels
        }
    ran = {(Path(kernel.kernel.path), kernel.kernel.name) for kernel in account.kernels}
    missed = sorted((path, line, name) for path, line, name in launched if (path, name) not in ran)
    for path, line, name in missed[:KERNELS_SHOWN]:
        yield f"`{name}` ({place(path.as_posix(), line, cwd)})"
    if len(missed) > KERNELS_SHOWN:
        yield f"and {len(missed) - KERNELS_SHOWN:,} more"
    if missed:
        yield f"{len(missed):,} of {plural(len(launched), 'launched kernel')}: of these the run says nothing"


def describe_stops(account: Account, cwd: Path) -> Iterator[str]:
    """Yield where the program could not continue without data."""
    if account.dry is not None:
        yield from _describe_questions(account.dry.stops, cwd)


def describe_pretended(account: Account) -> Iterator[str]:
    """Yield the GPU that the program found, and what cannot be known without one."""
    if account.dry is not None:
        yield "the program found " + ", ".join(f"{name} {value}" for name, value in account.dry.pretended)
        yield f"not known without a GPU: {NOT_KNOWN}"


def describe_files(account: Account) -> Iterator[str]:
    """Yield the files that a dry run left as they were, those that it wrote, and its connections."""
    files = [warning.message for warning in account.warnings if warning.kind == "files"]
    yield from files
    if files and account.dry is not None:
        yield NOT_LISTED


def describe_rounds(account: Account) -> Iterator[str]:
    """Yield for each tuned kernel the number of rounds of tuning and of configs."""
    if account.dry is not None:
        for kernel, rounds, configs in account.dry.tuned:
            tried = plural(configs, "config")
            yield f"`{kernel.name}`: {plural(rounds, 'round')} of tuning, {tried} each: {rounds * configs:,} trials"


def _describe_questions(questions: Iterable[tuple[GuessEvent, int]], cwd: Path) -> Iterator[str]:
    every = sorted(questions, key=lambda pair: -pair[1])
    for event, count in every[:QUESTIONS_SHOWN]:
        site = "" if event.site is None else f" at {place(event.site.path, event.site.line, cwd)}"
        yield (f"{count:,}x " if count > 1 else "") + event.question + site
    if len(every) > QUESTIONS_SHOWN:
        yield f"and {plural(len(every) - QUESTIONS_SHOWN, 'question')} more"

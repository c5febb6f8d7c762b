"""What a team needs to adopt `check`: a baseline, comments in bulk, changed files only, and the evidence of runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triton_doctor.cli.asides import print_detail, print_message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.evidence.weighing import Weighing
    from triton_doctor.runtime.recording import Recording
    from triton_doctor.settings import Settings
    from triton_doctor.static.scan import Scan

STRANGERS_SHOWN = 3
ADOPTION, EVIDENCE = "Adopt in an existing project", "Evidence from runs"

BaselineOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Leave out the findings that FILE knows.",
        show_default="none",
        rich_help_panel=ADOPTION,
    ),
]
WriteBaselineOption = Annotated[
    bool,
    typer.Option(
        "--write-baseline",
        help="Write all that is found to the baseline, and report nothing.",
        rich_help_panel=ADOPTION,
    ),
]
AddIgnoreOption = Annotated[
    str | None,
    typer.Option(
        "--add-ignore",
        metavar="[=REASON]",
        help="Add a comment that silences each finding to its line, and report what is left.",
        show_default=False,
        rich_help_panel=ADOPTION,
    ),
]
ChangedOption = Annotated[
    str | None,
    typer.Option(
        "--changed",
        metavar="[REV]",
        help="Findings in files that changed since REV only; HEAD where it is left out.",
        show_default=False,
        rich_help_panel=ADOPTION,
    ),
]
RecordingOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE...",
        help="What `run -o` recorded, to confirm or clear findings.",
        show_default=False,
        rich_help_panel=EVIDENCE,
    ),
]


DryOption = Annotated[
    bool,
    typer.Option(
        "--dry",
        help="Run the command after -- dry, the tests where there is none, and judge by that.",
        rich_help_panel=EVIDENCE,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """What was asked for. None where it was not; `changed` is the revision, `reason` that of the comments to add."""

    baseline: Path | None
    writes: bool
    reason: str | None
    changed: str | None
    recordings: tuple[Path, ...]


def adoption(
    settings: Settings,
    *,
    baseline: Path | None,
    write_baseline: bool,
    add_ignore: str | None,
    changed: str | None,
    recording: Sequence[Path],
    from_stdin: bool,
) -> Adoption:
    """Combine the command line's wishes with `settings`. Raises DoctorError if they contradict each other."""
    from triton_doctor.errors import DoctorError
    from triton_doctor.static.sources.files import shown_path
    from triton_doctor.static.sources.git_changes import HEAD
    from triton_doctor.static.suppression.baseline import DEFAULT_NAME

    for wished, name in ((add_ignore is not None, "--add-ignore"), (changed is not None, "--changed")):
        if wished and from_stdin:
            raise DoctorError(f"{name} is about files, and - is stdin", hint="name the file")
        if wished and write_baseline:
            raise DoctorError(f"--write-baseline does not go with {name}", hint="a baseline holds all that is found")
    if write_baseline and from_stdin:
        raise DoctorError("--write-baseline is about files, and - is stdin", hint="name the file")
    if add_ignore is not None and not add_ignore.isprintable():
        raise DoctorError(
            "the reason of --add-ignore is more than one line", hint='--add-ignore="three lengths in all"'
        )
    file = baseline
    if file is None and settings.baseline is not None:
        file = Path(shown_path((settings.root / settings.baseline).as_posix(), Path.cwd()))
    if file is None and write_baseline:
        file = Path(DEFAULT_NAME)
    if write_baseline and baseline is None and file is not None:
        require_inside(file, settings.root)
    return Adoption(
        baseline=file,
        writes=write_baseline,
        reason=add_ignore,
        changed=changed if changed is None else changed or HEAD,
        recordings=tuple(recording),
    )


def require_inside(file: Path, root: Path) -> None:
    """Raise DoctorError where `file`, which the command line does not name, lies outside of the project at `root`.

    Links count for where they lead: a repository can bring them, as it brings the setting.
    """
    from triton_doctor.errors import DoctorError

    real = file.resolve()
    if not any(real.is_relative_to(folder.resolve()) for folder in (root, Path.cwd())):
        raise DoctorError(
            f"the baseline {file} would be written outside of the project, to {real}",
            hint=f"--baseline {file} names it on the command line",
        )


def weighing(recordings: Sequence[Recording], cwd: Path) -> Weighing | None:
    """Return what judges findings by `recordings`; None if there are no recordings."""
    if not recordings:
        return None
    from triton_doctor.evidence.weighing import Weighing

    return Weighing(recordings=recordings, cwd=cwd)


def describe_weighing(weighed: Weighing | None) -> None:
    """Print which kernels of the recordings were not found in the files, if that may surprise."""
    if weighed is None:
        return
    if weighed.strangers:
        print_message("no kernel of the recordings is in the files that were read")
        for kernel in weighed.strangers[:STRANGERS_SHOWN]:
            print_detail(f"`{kernel.name}` of {kernel.path}")
        if len(weighed.strangers) > STRANGERS_SHOWN:
            print_detail(f"and {len(weighed.strangers) - STRANGERS_SHOWN} more")
    for name in weighed.ambiguous:
        print_message(f"`{name}` of the recordings could be any of several kernels, and counts for none")


def only_changed(result: Scan, changed: frozenset[str], cwd: Path) -> Scan:
    """Remove the findings of `result` that are not in the files `changed`."""
    from triton_doctor.finding import split_cell

    def is_changed(path: str) -> bool:
        return (cwd / split_cell(path)[0]).resolve().as_posix() in changed

    return replace(result, findings=tuple(finding for finding in result.findings if is_changed(finding.path)))

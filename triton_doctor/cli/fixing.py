"""What `check` has to do with fixes: its options for them, and the files that they change."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from triton_doctor.cli.messages import print_line, print_message
from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.phrases import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from triton_doctor.finding import Finding
    from triton_doctor.runtime.recording import Recording
    from triton_doctor.static.fix.rounds import Fixed
    from triton_doctor.static.project.cache.scan_cache import ScanStore
    from triton_doctor.static.scan import Judge, Scan
    from triton_doctor.static.sources.workspace import Workspace

FIXES = "Fixes"
Fix = Annotated[
    bool,
    typer.Option("--fix", help="Apply the safe fixes, list them, and report what is left.", rich_help_panel=FIXES),
]
UnsafeFixes = Annotated[
    bool,
    typer.Option("--unsafe-fixes", help="With --fix or --diff: the unsafe fixes too.", rich_help_panel=FIXES),
]
Diff = Annotated[
    bool,
    typer.Option("--diff", help="Show what the fixes would change, and write nothing.", rich_help_panel=FIXES),
]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify",
        help="Compile each kernel that a fix changes, before and after, and make only the fixes after which it does. "
        "Needs triton and no GPU, and imports the modules.",
        rich_help_panel=FIXES,
    ),
]
# What `--verify` compiles for: each kernel of a supported Triton compiles for it, and none is run.
VERIFY_TARGET = "cuda:90"


@dataclass(frozen=True, slots=True, kw_only=True)
class FixChoice:
    """The flags as they were given."""

    fix: bool = False
    unsafe: bool = False
    diff: bool = False
    verify: bool = False

    @property
    def wanted(self) -> bool:
        """Return whether fixes are to be applied or shown."""
        return self.fix or self.diff

    def require_sense(self, *, from_stdin: bool, otherwise: bool) -> None:
        """Raise DoctorError for flags that contradict each other or have no effect alone.

        `otherwise` means that findings are to be written to a baseline, or silenced.
        """
        for given, flag in ((self.unsafe, "--unsafe-fixes"), (self.verify, "--verify")):
            if given and not self.wanted:
                raise DoctorError(f"{flag} needs --fix or --diff", hint=f"--fix {flag}")
        if self.verify and (find_spec("triton") is None or find_spec("torch") is None):
            raise DoctorError("--verify needs torch and triton, which are not here", hint="pip install torch triton")
        if self.diff and self.fix:
            raise DoctorError("--diff writes nothing, --fix does", hint="give one of them")
        if self.wanted and otherwise:
            raise DoctorError("fixes do not go with --write-baseline or --add-ignore", hint="fix first, then the other")
        if self.wanted and from_stdin:
            raise DoctorError("fixes need a file, and - is stdin", hint="name the file")


def fix_files(
    workspace: Workspace,
    choice: FixChoice,
    *,
    cwd: Path,
    narrow: Callable[[Scan], Scan],
    weigh: Judge | None,
    recordings: Sequence[Recording],
    on_progress: Callable[[int], None],
    cache: ScanStore | None,
) -> Fixed:
    """Fix what `narrow` leaves, on disk unless a diff is asked for, and say on stderr what was done.

    Paths are shown as seen from `cwd`.
    """
    from triton_doctor.static.fix.rounds import fix
    from triton_doctor.static.sources.shown_paths import path_shower

    again = partial(fix, workspace, unsafe=choice.unsafe, narrow=narrow, weigh=weigh, cache=cache)
    fixed = again(on_progress=on_progress)
    if choice.verify:
        withdrawn = _withdrawn(workspace, fixed, choice, recordings=recordings)
        if withdrawn:
            fixed = again(without=withdrawn)
    show = path_shower(workspace.base, cwd)
    if choice.diff:
        _show_diff(fixed, show)
    else:
        _write(fixed, show)
    _print_fixed(fixed, choice, show)
    return fixed


def _withdrawn(
    workspace: Workspace, fixed: Fixed, choice: FixChoice, *, recordings: Sequence[Recording]
) -> frozenset[tuple[str, ...]]:
    """Try what was fixed, report each kernel, and return the names of the fixes that are not verified."""
    from triton_doctor.evidence.verification.verify import TrialOutcome, verify
    from triton_doctor.static.fix.rounds import name_of
    from triton_doctor.static.project.analysis.parts import whole_project
    from triton_doctor.static.project.database.database import Database

    verdicts = verify(
        whole_project(Database(workspace.files), workspace.settings, workspace.base),
        fixed.made,
        {path: file.after for path, file in fixed.files.items()},
        cwd=workspace.base,
        target=VERIFY_TARGET,
        recordings=recordings,
    )
    for verdict in verdicts:
        print_line(verdict.line())
    failed = (verdict for verdict in verdicts if verdict.outcome is not TrialOutcome.VERIFIED)
    return frozenset(name_of(finding) for verdict in failed for finding in verdict.fixes)


def _write(fixed: Fixed, show: Callable[[str], str]) -> None:
    from triton_doctor.static.fix.write import write_all

    together = [
        tuple({change.path for change in finding.fix.changes}) for finding in fixed.made if finding.fix is not None
    ]
    try:
        left = write_all(fixed.files, together)
    except OSError as error:
        message = f"{error.filename or 'a file'} cannot be written: {reason_of(error)}"
        raise DoctorError(message, hint="--diff shows the fixes without writing them") from error
    for path in left:
        print_message(f"{show(path)} is left as it is: it, or one that goes with it, has changed meanwhile")


def _show_diff(fixed: Fixed, show: Callable[[str], str]) -> None:
    from triton_doctor.static.fix.text import unified_diff

    for path, file in fixed.files.items():
        sys.stdout.write(unified_diff(show(path), file.before, file.after))


def _print_fixed(fixed: Fixed, choice: FixChoice, show: Callable[[str], str]) -> None:

    if not choice.diff:
        for finding in sorted(fixed.made, key=lambda finding: finding.order):
            print_line(_line(finding, show))
    for finding, why in fixed.left:
        print_line(f"{_line(finding, show)}: not done, {why}")
    if fixed.made:
        verb = "would fix" if choice.diff else "fixed"
        counts = Counter(finding.code for finding in fixed.made)
        codes = ", ".join(f"{count} {code}" for code, count in sorted(counts.items()))
        what = f"{plural(len(fixed.made), 'problem')} ({codes}) in {plural(len(fixed.files), 'file')}"
        print_message(f"{verb} {what}")
    elif choice.diff:
        print_message("nothing to fix")


def _line(finding: Finding, show: Callable[[str], str]) -> str:
    title = finding.fix.title if finding.fix is not None else finding.message
    return f"{show(finding.path)}:{finding.span.line}: {finding.code} {title}"

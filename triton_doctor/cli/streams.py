"""The ends of the command: what comes in from stdin, and where the report goes."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from triton_doctor.cli.messages import print_line, print_message
from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.report import View
from triton_doctor.report.source import line_reader
from triton_doctor.static.sources.contents import read_bytes
from triton_doctor.static.sources.files import FileKind, SourceFile
from triton_doctor.static.sources.shown_paths import path_shower
from triton_doctor.static.sources.workspace import MOST_FILES, Workspace, find_workspace
from triton_doctor.terminal import color_report, follows_links, width_of_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from triton_doctor.finding import Finding
    from triton_doctor.plan import Replacement
    from triton_doctor.report import Show
    from triton_doctor.settings import Settings
    from triton_doctor.static.fix.apply import Workbench

# Without a terminal there is nothing to fit: as wide as code is usually written.
WIDTH_OF_FILES = 120


def read_stdin(path: Path | None, settings: Settings, cwd: Path) -> Workspace:
    """Read stdin as the file at `path`, which need not exist, in its project; None is a file without a project.

    Raises DoctorError if stdin cannot be read.
    """
    if sys.stdin is None:
        raise DoctorError("stdin cannot be read: it is closed", hint="name the file")
    try:
        text = sys.stdin.buffer.read()
    except OSError as error:
        raise DoctorError(f"stdin cannot be read: {reason_of(error)}", hint="name the file") from error
    if path is not None:
        return find_workspace([path], settings, cwd=cwd, text=text)
    file = SourceFile((cwd / "stdin.py").as_posix(), "stdin.py", FileKind.PYTHON, text)
    return Workspace(base=cwd, home=cwd, files=(file,), report_paths=None, settings=settings, projects=(), read=())


def describe_limits(workspace: Workspace, asked: Sequence[str]) -> None:
    """Print that there are no files to read, or too many to read all."""
    if not workspace.reported:
        print_message(f"no Python files under {', '.join(asked)}")
    for folder in workspace.cut:
        print_message(f"{folder} holds more than {MOST_FILES:,} files: only what was asked for is read")


def describe_unresolved_launches(workspace: Workspace, cwd: Path) -> None:
    """List on stderr the launches that are reported on and whose kernel was not found, as seen from `cwd`.

    Files with code of kernels in which none was found come last.
    """
    from triton_doctor.static.project.analysis.unresolved import files_without_kernels, unresolved_launches
    from triton_doctor.static.project.database.database import Database

    show, database = path_shower(workspace.base, cwd), Database(workspace.files)
    for unresolved_launch in unresolved_launches(database, workspace.report_paths):
        print_line(
            f"{show(unresolved_launch.path)}:{unresolved_launch.line}: launch not resolved: {unresolved_launch.why}"
        )
    for path, line in files_without_kernels(database, workspace.report_paths):
        print_line(f"{show(path)}:{line}: no kernel found in this file: it is marked by names of its own, or text")


def choose_view(
    workspace: Workspace | None,
    *,
    cwd: Path,
    to_file: bool,
    show: frozenset[Show] = frozenset(),
    why: bool = False,
) -> View:
    """Determine how the report is shown: colors, width, links, and the source lines that it can quote.

    `workspace` is None for a report that is not about files; paths are shown relative to `cwd`.
    """
    files = workspace.files if workspace is not None else ()
    show_path = path_shower(workspace.base if workspace is not None else cwd, cwd)
    texts = {show_path(file.shown): file.text for file in files if file.text is not None}
    color_it = color_report(to_file=to_file)
    on_terminal = sys.stdout.isatty() and not to_file
    return View(
        lines_of=line_reader(cwd, texts),
        color=color_it,
        show=show,
        why=why,
        links=on_terminal and color_it and follows_links(os.environ),
        replaced=replacer(files, show_path),
        width=columns_of_stdout(to_file=to_file),
    )


def replacer(files: Sequence[SourceFile], show: Callable[[str], str]) -> Callable[[Finding], Sequence[Replacement]]:
    """Return a function from a finding to what its fix replaces; libcst is only imported when it is called."""

    @cache
    def workbench() -> Workbench:
        from triton_doctor.static.fix.apply import Workbench

        by_path = {show(file.shown): file for file in files}
        return Workbench(lambda path: read_bytes(by_path[path]))

    return lambda finding: workbench().replacements(finding) if finding.fix is not None else ()


def columns_of_stdout(*, to_file: bool = False) -> int:
    """Return the width of a report: of the terminal, or COLUMNS, or a default."""
    return width_of_report(to_file=to_file) or WIDTH_OF_FILES


def require_output(path: Path | None, inputs: Iterable[Path | str]) -> None:
    """Raise DoctorError where a report would replace one of `inputs`, whatever name they have for it."""
    if path is None or not path.is_file():
        return
    for file in inputs:
        with suppress(OSError, ValueError):
            if os.path.samefile(file, path):  # noqa: PTH121, thousands
                raise DoctorError(f"-o {path} would replace what is read", hint="name another file")


def write_report(text: str, path: Path | None) -> None:
    """Write `text` to `path`, to stdout for None. What the encoding of stdout lacks is escaped."""
    if path is None:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise DoctorError(f"{path} cannot be written: {reason_of(error)}", hint="-o names a file") from error

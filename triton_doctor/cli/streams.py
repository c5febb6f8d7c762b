"""The ends of the command: what comes in from stdin, and where the report goes."""

from __future__ import annotations

import os
import shutil
import sys
from functools import cache
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.report import View
from triton_doctor.report.source import line_reader
from triton_doctor.static.files import Kind, SourceFile, kind_of, shown_path
from triton_doctor.static.texts import read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from triton_doctor.finding import Finding
    from triton_doctor.plan import Replacement
    from triton_doctor.static.fix.apply import Workbench

# Without a terminal there is nothing to fit: as wide as code is usually written.
WIDTH_OF_FILES = 120


def read_stdin(path: Path, cwd: Path) -> SourceFile:
    """Stdin as the file at `path`, which need not exist."""
    absolute = cwd / path
    kind = kind_of(path.name) or Kind.PYTHON
    return SourceFile(str(absolute), shown_path(absolute.as_posix(), cwd), kind, sys.stdin.buffer.read())


def choose_view(files: Sequence[SourceFile], color: str, *, cwd: Path, to_file: bool) -> View:
    """How the report on `files` will be seen: by whom, and what it can quote."""
    texts = {file.shown: file.text for file in files if file.text is not None}
    on_terminal = sys.stdout.isatty() and not to_file
    return View(
        lines_of=line_reader(cwd, texts),
        color=use_color(color, on_terminal=on_terminal),
        replaced=replacer(files),
        width=shutil.get_terminal_size((WIDTH_OF_FILES, 24)).columns if on_terminal else columns_wished(),
    )


def replacer(files: Sequence[SourceFile]) -> Callable[[Finding], Sequence[Replacement]]:
    """What a fix replaces in `files`; libcst is imported, and a file parsed, when that is asked."""
    by_path = {file.shown: file for file in files}

    @cache
    def workbench() -> Workbench:
        from triton_doctor.static.fix.apply import Workbench

        return Workbench(lambda path: read_bytes(by_path[path]))

    return lambda finding: workbench().replacements(finding) if finding.fix is not None else ()


def use_color(wish: str, *, on_terminal: bool) -> bool:
    """Whether to color: as wished, else on a terminal unless NO_COLOR is set (https://no-color.org)."""
    if wish != "auto":
        return wish == "always"
    return on_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns_wished() -> int:
    """What COLUMNS says, else WIDTH_OF_FILES."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() else WIDTH_OF_FILES


def write_report(text: str, path: Path | None) -> None:
    """Write `text` to `path`, to stdout for None. What the encoding of stdout lacks is escaped."""
    if path is None:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise DoctorError(f"{path} cannot be written: {reason_of(error)}", hint="--output-file names a file") from error

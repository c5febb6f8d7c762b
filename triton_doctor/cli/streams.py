"""The ends of the command: what comes in from stdin, and where the report goes."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.report import View
from triton_doctor.report.source import line_reader
from triton_doctor.static.files import Kind, SourceFile, kind_of, shown_path
from triton_doctor.static.texts import read_bytes
from triton_doctor.terminal import color_report, width_of_report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from triton_doctor.finding import Finding
    from triton_doctor.plan import Replacement
    from triton_doctor.static.fix.apply import Workbench

# Without a terminal there is nothing to fit: as wide as code is usually written.
WIDTH_OF_FILES = 120


def read_stdin(path: Path, cwd: Path) -> SourceFile:
    """Stdin as the file at `path`, which need not exist. Raises DoctorError where nothing can be read."""
    absolute = cwd / path
    kind = kind_of(path.name) or Kind.PYTHON
    if sys.stdin is None:
        raise DoctorError("stdin cannot be read: it is closed", hint="name the file")
    try:
        data = sys.stdin.buffer.read()
    except OSError as error:
        raise DoctorError(
            f"stdin cannot be read: {(error.strerror or str(error)).lower()}", hint="name the file"
        ) from error
    return SourceFile(str(absolute), shown_path(absolute.as_posix(), cwd), kind, data)


def choose_view(files: Sequence[SourceFile], color: str, *, cwd: Path, to_file: bool) -> View:
    """How the report on `files` will be seen: by whom, and what it can quote."""
    texts = {file.shown: file.text for file in files if file.text is not None}
    return View(
        lines_of=line_reader(cwd, texts),
        color=color_report(color, to_file=to_file),
        replaced=replacer(files),
        width=width_of_report(to_file=to_file) or WIDTH_OF_FILES,
    )


def replacer(files: Sequence[SourceFile]) -> Callable[[Finding], Sequence[Replacement]]:
    """What a fix replaces in `files`; libcst is imported, and a file parsed, when that is asked."""
    by_path = {file.shown: file for file in files}

    @cache
    def workbench() -> Workbench:
        from triton_doctor.static.fix.apply import Workbench

        return Workbench(lambda path: read_bytes(by_path[path]))

    return lambda finding: workbench().replacements(finding) if finding.fix is not None else ()


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

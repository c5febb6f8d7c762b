"""The ends of the command: what comes in from stdin, and where the report goes."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.static.files import Kind, SourceFile, kind_of, shown_path

if TYPE_CHECKING:
    from pathlib import Path

# Without a terminal there is nothing to fit: as wide as code is usually written.
WIDTH_OF_FILES = 120


def read_stdin(path: Path, cwd: Path) -> SourceFile:
    """Stdin as the file at `path`, which need not exist."""
    absolute = cwd / path
    kind = kind_of(path.name) or Kind.PYTHON
    return SourceFile(absolute, shown_path(absolute.as_posix(), cwd), kind, sys.stdin.buffer.read())


def use_color(wish: str, *, to_file: bool) -> bool:
    """Whether to color: as wished, else on a terminal unless NO_COLOR is set (https://no-color.org)."""
    if wish != "auto":
        return wish == "always"
    return not to_file and sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def view_width(*, to_file: bool) -> int:
    """Columns of the terminal, or COLUMNS."""
    if to_file or not sys.stdout.isatty():
        columns = os.environ.get("COLUMNS", "")
        return int(columns) if columns.isdigit() else WIDTH_OF_FILES
    return shutil.get_terminal_size().columns


def write_report(text: str, path: Path | None) -> None:
    """Write `text` to `path`, to stdout for None. What the encoding of stdout lacks is escaped."""
    if path is None:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DoctorError(
            f"{path} cannot be written: {(error.strerror or str(error)).lower()}", hint="--output-file names a file"
        ) from error

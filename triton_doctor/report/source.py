"""A path as findings spell it to the lines of its file, for reports that quote them."""

from __future__ import annotations

import io
import tokenize
from functools import cache
from typing import TYPE_CHECKING

from triton_doctor.finding import split_cell
from triton_doctor.regular_files import read_regular_file
from triton_doctor.static.sources.notebooks import read_notebook

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


def line_reader(cwd: Path, texts: Mapping[str, bytes]) -> Callable[[str], tuple[str, ...]]:
    """A function from path to lines without their ends. `texts` stand in for files; an unreadable one has no lines."""

    @cache
    def lines_of(path: str) -> tuple[str, ...]:
        name, number = split_cell(path)
        try:
            data = texts[name] if name in texts else read_regular_file(cwd / name)
            if number is not None:
                return next((tuple(cell.lines) for cell in read_notebook(data).cells if cell.number == number), ())
            return split_lines(data)
        except OSError:
            return ()

    return lines_of


def split_lines(data: bytes) -> tuple[str, ...]:
    """The lines of a source file as Python counts them: a form feed ends none. Bytes that are no text are replaced."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:
        encoding = "utf-8"
    text = io.TextIOWrapper(io.BytesIO(data), encoding=encoding, errors="replace", newline=None).read()
    return tuple(text.removesuffix("\n").split("\n"))

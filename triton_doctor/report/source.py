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
    """Return a cached function from a path to its lines without line ends; none if it cannot be read.

    `texts` replace files by their content.
    """

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
    """Split a source file into lines as Python does: a form feed ends none. Undecodable bytes are replaced."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:
        encoding = "utf-8"
    text = io.TextIOWrapper(io.BytesIO(data), encoding=encoding, errors="replace", newline=None).read()
    return tuple(text.removesuffix("\n").split("\n"))

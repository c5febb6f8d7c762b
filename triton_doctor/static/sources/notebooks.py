"""Jupyter notebooks to programs and back: all code cells as one Python file, and its lines as lines of cells.

A cell in another language becomes empty lines; `%env X=1` and `!command` become the calls that IPython makes of them.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from triton_doctor.finding import Location
from triton_doctor.nesting import with_own_stack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from triton_doctor.finding import Finding

SUFFIX = ".ipynb"
# Fix the encoding as UTF-8, whatever a comment in a cell says: Python reads it from the first two lines (PEP 263).
_HEAD = ("# coding: utf-8", "")
_LINE_MAGIC = re.compile(r"(\s*)%(\w+)[ \t]*(.*)")
_CAPTURED = re.compile(r"(\s*[\w, ]+=\s*)[!%](.*)")
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_PYTHON_CELLS = frozenset({"time", "timeit", "capture", "prun", "python", "python3", "px"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A code cell.

    `number` counts all cells from 1; `lines` are as written; `first` is the cell's first line in the program.
    """

    number: int
    lines: Sequence[str]
    first: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Notebook:
    """The code cells of a notebook in order. `program` is the Python program made of them."""

    cells: tuple[Cell, ...]
    program: bytes

    def cell_at(self, line: int) -> Cell | None:
        """Return the cell that holds `line` of the program."""
        return next((cell for cell in self.cells if cell.first <= line < cell.first + len(cell.lines)), None)


def read_notebook(data: bytes) -> Notebook:
    """Return the notebook in `data`; without cells if it is none. A cell that does not parse becomes empty lines."""
    try:
        listed = with_own_stack(json.loads, data.decode("utf-8-sig", "replace"))["cells"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return Notebook(cells=(), program=b"")
    cells, program = [], list(_HEAD)
    for number, source in _code_cells(listed):
        written = source.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
        python = _as_python(written)
        if not _parses("\n".join(python)):
            python = ["" for _ in written]
        cells.append(Cell(number=number, lines=tuple(written), first=len(program) + 1))
        program += python
    return Notebook(cells=tuple(cells), program="\n".join([*program, ""]).encode("utf-8", "replace"))


def _code_cells(cells: Any) -> Iterator[tuple[int, str]]:
    for number, cell in enumerate(cells if isinstance(cells, list) else (), start=1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            yield number, "".join(map(str, source)) if isinstance(source, list) else str(source)


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with_own_stack(ast.parse, text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _as_python(lines: list[str]) -> list[str]:
    """Return the cell as Python, as IPython would run it, with the same number of lines."""
    first = next((line for line in lines if line.strip()), "")
    magic = _CELL_MAGIC.match(first)
    if magic and magic[1] not in _PYTHON_CELLS:
        if magic[1] not in {"bash", "sh", "script", "system", "sx"}:
            return ["" for _ in lines]
        return [_bash_line(line) if line is not first else "" for line in _joined(lines)]
    converted = []
    for line in _joined(lines):
        if line is first and magic:
            converted.append("")
        elif match := _LINE_MAGIC.fullmatch(line):
            converted.append(f"{match[1]}get_ipython().run_line_magic({match[2]!r}, {match[3]!r})")
        elif line.lstrip().startswith("!"):
            indent = line[: len(line) - len(line.lstrip())]
            converted.append(f"{indent}get_ipython().system({line.lstrip()[1:]!r})")
        elif match := _CAPTURED.fullmatch(line):
            converted.append(f"{match[1]}get_ipython().getoutput({match[2]!r})")
        elif line.rstrip().endswith("?") or line.startswith("?"):
            converted.append("")
        else:
            converted.append(line)
    return converted


def _bash_line(line: str) -> str:
    return f"get_ipython().system({line!r})" if line.strip() else ""


def _joined(lines: list[str]) -> list[str]:
    """Return `lines` with commands that a backslash continues joined into their first line."""
    result: list[str] = []
    open_at: int | None = None
    for line in lines:
        if open_at is not None:
            result[open_at] = result[open_at].rstrip()[:-1] + " " + line.strip()
            result.append("")
        else:
            result.append(line)
        is_command = open_at is not None or line.lstrip().startswith(("!", "%"))
        last = result[open_at] if open_at is not None else line
        open_at = (
            (open_at if open_at is not None else len(result) - 1)
            if is_command and last.rstrip().endswith("\\")
            else None
        )
    return result


def cell_path(path: str, number: int) -> str:
    """Return the name of a cell of the notebook at `path`, in ruff's form: `train.ipynb:cell 3`."""
    return f"{path}:cell {number}"


def show_location(location: Location, read: Callable[[str], Notebook]) -> Location:
    """Return `location` as a line of its cell if it is in a notebook. `read` gives notebooks by path."""
    cell = read(location.path).cell_at(location.line) if location.path.endswith(SUFFIX) else None
    if cell is None:
        return location
    return Location(cell_path(location.path, cell.number), location.line - cell.first + 1)


def show_cells(finding: Finding, read: Callable[[str], Notebook]) -> Finding:
    """Return `finding` with program lines of notebooks replaced by lines of cells. `read` gives notebooks by path."""
    return finding.relocate(partial(show_location, read=read))

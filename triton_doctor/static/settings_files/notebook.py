"""Jupyter notebooks to settings: `%env`, `!X=1 command`, `%%bash` cells, and the Python of all cells together."""

from __future__ import annotations

import ast
import json
import re
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from triton_doctor.finding import Span
from triton_doctor.static.read.source import Source
from triton_doctor.static.read_environment import read_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.model_environment import EnvironmentFile

_LINE_MAGIC = re.compile(r"(\s*)%(\w+)[ \t]*(.*)")
_CAPTURED = re.compile(r"(\s*[\w, ]+=\s*)[!%](.*)")
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_PYTHON_CELLS = frozenset({"time", "timeit", "capture", "prun", "python", "python3", "px"})


def read_notebook(path: str, text: str) -> EnvironmentFile | None:
    """The notebook as one program, cells in order; None when it is no notebook. A cell that does not parse is left out.

    Raises SyntaxError, ValueError, RecursionError or MemoryError, as `ast.parse` does.
    """
    try:
        cells = json.loads(text)["cells"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    lines: list[str] = []
    places: list[Span] = []
    finder = _Finder(text)
    for source in _code_cells(cells):
        written = source.removeprefix("\ufeff").split("\n")
        python = _as_python(written)
        if not _parses("\n".join(python)):
            python = ["" for _ in written]
        lines += python
        places += [finder.place(line) for line in written]
    program = "\n".join(lines).encode("utf-8", "replace")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(program.decode())  # in bytes, a comment could say that they are in another encoding
    found = read_environment(path, tree, Source(program), kind="notebook")

    def moved(span: Span) -> Span:
        return places[span.line - 1] if 0 < span.line <= len(places) else span

    return replace(
        found,
        settings=tuple(replace(one, span=moved(one.span)) for one in found.settings),
        timings=tuple(replace(one, span=moved(one.span)) for one in found.timings),
    )


def _code_cells(cells: Any) -> Iterator[str]:
    if not isinstance(cells, list):
        return
    for cell in cells:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            yield "".join(map(str, source)) if isinstance(source, list) else str(source)


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _as_python(lines: list[str]) -> list[str]:
    """The cell as IPython would run it, with as many lines."""
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
    """Commands that a backslash continues, in their first line."""
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


class _Finder:
    """Finds the lines of cells in the notebook's own text, in order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1

    def place(self, line: str) -> Span:
        """Where `line` stands, as JSON spells it."""
        found, width = -1, 0
        if line.strip():
            for ascii_only in (False, True):
                spelled = json.dumps(line, ensure_ascii=ascii_only)[1:-1]
                found, width = self._text.find(spelled, self._at), len(spelled)
                if found >= 0:
                    break
        if found < 0:
            return Span(self._line, 1, self._line, 1)
        self._line += self._text.count("\n", self._at, found)
        self._at = found
        column = found - (self._text.rfind("\n", 0, found) + 1) + 1
        begin = self._line, column
        self._at = found + width
        return Span(*begin, self._line, column + width)

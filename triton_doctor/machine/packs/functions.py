"""Triton's intermediate code to the functions that a kernel was compiled from, with a digest of each.

The code names file and line of each operation, also of those that stand in functions that the kernel calls. Triton's
key has the text of all these functions and the lines where they begin.
"""

from __future__ import annotations

import ast
import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.machine.cache_ir import FILE, LOCATION, frames
from triton_doctor.machine.cache_source import first_line
from triton_doctor.machine.packs.manifest import SourceFunction
from triton_doctor.regular_files import read_with_status

if TYPE_CHECKING:
    from collections.abc import Iterator

# Triton's own functions enter the key by the digest of Triton.
TRITONS_OWN = ("/triton/language/", "/triton/experimental/")


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionsOfFile:
    """The functions of a file: name, first line, last line, and digest of each, and when the file was changed."""

    functions: tuple[tuple[str, int, int, str], ...]
    changed_at: float

    def around(self, line: int) -> tuple[str, int, int, str] | None:
        """The innermost function that has `line`; None where there is none."""
        found = [function for function in self.functions if function[1] <= line <= function[2]]
        return min(found, key=lambda function: function[2] - function[1], default=None)


def find_functions(code: str, compiled_at: float) -> tuple[SourceFunction, ...]:
    """The functions that `code` was compiled from at `compiled_at`, the kernel first, those of Triton left out."""
    locations = {match["name"]: match["text"] for match in LOCATION.finditer(code)}
    start = next(iter(frames(locations.get("#loc", ""), locations)), None)
    if start is None:
        return ()
    places = {(match["path"], int(match["line"])) for match in FILE.finditer(code)}
    found = dict.fromkeys(locate_function(start.path, start.line, compiled_at))
    for path, line in sorted(places - {(start.path, start.line)}):
        if not any(part in Path(path).as_posix() for part in TRITONS_OWN):
            found.update(dict.fromkeys(locate_function(path, line, compiled_at)))
    return tuple(found)


def locate_function(path: str, line: int, compiled_at: float) -> Iterator[SourceFunction]:
    """The function around `line` of the file at `path`, where that file still has one there."""
    text = read_functions(path)
    function = text.around(line) if text else None
    if text is not None and function is not None:
        name, first, _, digest = function
        yield SourceFunction(
            path=path,
            module_path=find_module_path(path),
            name=name,
            line=first,
            digest=digest if text.changed_at <= compiled_at else None,
        )


@cache
def read_functions(path: str) -> FunctionsOfFile | None:
    """The functions of the file at `path`; None where it is gone, or no Python."""
    try:
        data, status = read_with_status(path)
        tree = ast.parse(data)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines = data.decode("utf-8", "replace").splitlines()
    functions = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            last = node.end_lineno or node.lineno
            text = "\n".join(line[node.col_offset :].rstrip() for line in lines[node.lineno - 1 : last])
            functions.append((node.name, first_line(node), last, hashlib.sha256(text.encode()).hexdigest()))
    return FunctionsOfFile(functions=tuple(functions), changed_at=status.st_mtime)


@cache
def find_module_path(path: str) -> str:
    """The end of `path` from the outermost package on, as an import finds it: `liger_kernel/ops/rms_norm.py`."""
    folder = Path(path).parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return Path(os.path.relpath(path, folder)).as_posix()

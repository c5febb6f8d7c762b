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

from triton_doctor.machine.cache_source import FILE, LOCATION, first_line, frames
from triton_doctor.machine.packs.manifest import SourceFunction
from triton_doctor.regular_files import read_with_status

if TYPE_CHECKING:
    from collections.abc import Iterator

# Triton's own functions enter the key by the digest of Triton.
TRITONS_OWN = ("/triton/language/", "/triton/experimental/")


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSpan:
    """A function as a file has it: its `first` line, decorators included, that of its `def`, and its `last`."""

    name: str
    first: int
    definition: int
    last: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionsOfFile:
    """The functions of a file, and when it was changed."""

    functions: tuple[FunctionSpan, ...]
    changed_at: float

    def around(self, line: int) -> FunctionSpan | None:
        """Return the innermost function that contains `line`; None if there is none."""
        found = [function for function in self.functions if function.first <= line <= function.last]
        return min(found, key=lambda function: function.last - function.first, default=None)


def find_functions(kernel: str, code: str, compiled_at: float) -> tuple[SourceFunction, ...]:
    """Return the functions that `code` was compiled from, the kernel first, without those of Triton itself.

    `code` is intermediate code with source locations; `compiled_at` is in seconds since the epoch.
    """
    locations = {match["name"]: match["text"] for match in LOCATION.finditer(code)}
    start = next(iter(frames(locations.get("#loc", ""), locations)), None)
    if start is None:
        return ()
    places = {(match["path"], int(match["line"])) for match in FILE.finditer(code)}
    found = dict.fromkeys(locate_function(start.path, start.line, compiled_at))
    if not found:
        module_path = find_module_path(start.path)
        return (SourceFunction(path=start.path, module_path=module_path, name=kernel, definition=start.line),)
    for path, line in sorted(places - {(start.path, start.line)}):
        if not any(part in Path(path).as_posix() for part in TRITONS_OWN):
            found.update(dict.fromkeys(locate_function(path, line, compiled_at)))
    return tuple(found)


def locate_function(path: str, line: int, compiled_at: float) -> Iterator[SourceFunction]:
    """Yield the function around `line` of the file at `path`; nothing if the file changed after `compiled_at`."""
    text = read_functions(path)
    function = text.around(line) if text and text.changed_at <= compiled_at else None
    if function is not None:
        yield SourceFunction(
            path=path,
            module_path=find_module_path(path),
            name=function.name,
            definition=function.definition,
            line=function.first,
            digest=function.digest,
        )


@cache
def read_functions(path: str) -> FunctionsOfFile | None:
    """Read the functions of the Python file at `path`; None if it is gone or does not parse."""
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
            digest = hashlib.sha256(text.encode()).hexdigest()
            first = first_line(node)
            functions.append(
                FunctionSpan(name=node.name, first=first, definition=node.lineno, last=last, digest=digest)
            )
    return FunctionsOfFile(functions=tuple(functions), changed_at=status.st_mtime)


@cache
def find_module_path(path: str) -> str:
    """Return `path` relative to the folder of its outermost package: `liger_kernel/ops/rms_norm.py`."""
    folder = Path(path).parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return Path(os.path.relpath(path, folder)).as_posix()

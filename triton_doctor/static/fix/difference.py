"""Two states of a file to a unified diff, as `patch` and `git apply` take it."""

from __future__ import annotations

import difflib
import os
import re
from typing import TYPE_CHECKING

from triton_doctor.static.fix.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

# The C escapes that git and patch read in the names of a diff.
_ESCAPES = [chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" for byte in range(256)]
_LINE = re.compile(r"[^\n]*\n|[^\n]+$")


def unified_diff(path: str, before: bytes, after: bytes) -> str:
    """The diff of the file at `path`."""
    old, new = (path, path) if path.startswith("/") else (f"a/{path}", f"b/{path}")
    return "".join(_ended(difflib.unified_diff(_lines(before), _lines(after), _quote(old), _quote(new))))


def _quote(name: str) -> str:
    """`name` as git writes it where it has line ends, quotes, other control characters or bytes that are no text."""
    if name.isprintable() and '"' not in name and "\\" not in name:
        return name
    return '"' + "".join(map(_ESCAPES.__getitem__, os.fsencode(name))) + '"'


def _lines(data: bytes) -> list[str]:
    return _LINE.findall(Text(data).text)


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"

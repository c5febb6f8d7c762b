"""Entries of Triton's cache folder as files, to be written in another folder than where they were made."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# A group file names the files of an entry by absolute paths (triton 3.9 cache.py, put_group).
GROUP = "__grp__"
SUFFIXES = (".json", ".so")


def write_entries(folder: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Write `files`, (entry/name, content), below the cache folder `folder`; what is there stays as it is.

    Each file appears whole, and a group file after the files that it names, as Triton writes them.
    """
    for name, content in sorted(files, key=lambda file: (GROUP in file[0], file[0])):
        entry, _, inner = name.partition("/")
        place = folder / Path(entry).name / Path(inner).name
        if place.exists():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.name.startswith(GROUP):
            content = _move_group(content, place.parent)
        descriptor, scratch = tempfile.mkstemp(dir=place.parent, prefix=".tmp.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.chmod(scratch, 0o644)  # noqa: PTH101
        os.replace(scratch, place)  # noqa: PTH105


def _move_group(content: bytes, folder: Path) -> bytes:
    group = json.loads(content)
    children = group.get("child_paths", {})
    return json.dumps({**group, "child_paths": {name: str(folder / name) for name in children}}).encode()


def list_kernel_entries(folder: Path) -> Iterator[tuple[str, str]]:
    """(entry, kernel) of each entry in `folder` that holds a whole kernel."""
    for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
        for group in sorted(entry.glob(f"{GROUP}*.json")) if entry.is_dir() else ():
            yield entry.name, group.name.removeprefix(GROUP).removesuffix(".json")

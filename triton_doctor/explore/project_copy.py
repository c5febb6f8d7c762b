"""A copy of a project's files for one sweep: what its code may need to be imported and called, and no more.

Left out are version control, environments and caches, large data files, and links that lead out of the project. The
copy is read-only by its modes; the sandbox makes it so for root, too.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from typing import TYPE_CHECKING

from triton_doctor.static.sources.files import EXCLUDED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

# Files of code are copied whatever their size; of others only what is small, and not more than so much together.
CODE = (".py", ".pyi", ".so", ".toml", ".cfg", ".ini")
LARGEST_DATA, MOST_DATA = 1 << 20, 64 << 20


def copy_project(root: Path, parts: Sequence[str], folder: Path) -> None:
    """Copy the `parts` (files and folders; "" is all) of the project at `root` to `folder`, which is made."""
    data = 0
    base = os.path.realpath(root)
    folder.mkdir(parents=True)
    for part in parts:
        for path, relative in _files(base, part):
            status = _status_inside(path, base)
            is_code = path.endswith(CODE)
            size = 0 if status is None else status.st_size
            if status is None or not (is_code or (size <= LARGEST_DATA and data + size <= MOST_DATA)):
                continue
            target = folder / relative
            with contextlib.suppress(OSError):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
                data += 0 if is_code else size
    make_read_only(folder)


def make_read_only(folder: Path) -> None:
    """Take away the right to write from `folder` and what is in it."""
    for place, _, names in os.walk(folder, topdown=False):
        for name in names:
            os.chmod(f"{place}/{name}", 0o444)
        os.chmod(place, 0o555)


def _files(base: str, part: str) -> Iterator[tuple[str, str]]:
    """Yield the files of a part of the project, with their paths relative to it."""
    start = os.path.join(base, part).rstrip(os.sep)
    if not os.path.isdir(start):
        yield start, part
        return
    for place, folders, names in os.walk(start):
        folders[:] = sorted(name for name in folders if name not in EXCLUDED and not _is_environment(place, name))
        for name in sorted(names):
            path = f"{place}/{name}"
            yield path, os.path.relpath(path, base)


def _is_environment(place: str, name: str) -> bool:
    return name.startswith(".") or os.path.exists(f"{place}/{name}/pyvenv.cfg")


def _status_inside(path: str, base: str) -> os.stat_result | None:
    """Return the status of a regular file, unless it is a link that leads out of the project."""
    real = os.path.realpath(path)
    if not real.startswith(f"{base}{os.sep}"):
        return None
    try:
        status = os.stat(real)
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None

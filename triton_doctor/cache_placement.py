"""Entries of Triton's cache folder, placed in another than where they were made.

Other processes may look for an entry, compile it, or place it at the same time.

Only what Python brings is imported here, as every process that compiles a kernel may import this.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import defaultdict
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from triton_doctor.regular_files import read_regular_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

WRITTEN, PRESENT, UNUSABLE = "written", "present", "unusable"
GROUP, SUFFIX = "__grp__", ".json"
STAGING = ".triton-doctor-unpack-"
NAME_BYTES = 255
# Of the group file or the metadata of an entry, which have a few kB; decoding takes some twenty times as much memory.
JSON_BYTES = 1 << 20


def place_entry(key: str, group: str | None, files: Mapping[str, Iterable[bytes]], folder: Path, seen_at: Path) -> str:
    """Write the entry `key` into `folder`, which its users see as `seen_at`, by renaming a whole folder.

    `files` are the pieces of each file; they are read in order, and only where the entry is written.
    `group` is the kernel whose group file makes Triton find the files, None for what is no kernel. Returns "written",
    "present" for what is there already, or "unusable" where what is there keeps Triton from finding the files. Raises
    OSError where nothing can be written, and ValueError for a name that no cache has.
    """
    if not all(map(is_file_name, (key, *files))) or not (group is None or is_file_name(f"{group}{SUFFIX}")):
        raise ValueError(f"{key[:60]!r} holds a file that no cache has")
    final = folder / key
    if final.is_symlink() or (final.exists() and not final.is_dir()):
        return UNUSABLE
    if is_complete(final, group, files, seen_at / key):
        return PRESENT
    staging = Path(tempfile.mkdtemp(prefix=STAGING, dir=folder))
    try:
        fresh = staging / key
        fresh.mkdir()
        for name, pieces in group_files(group, files, seen_at / key):
            with (fresh / name).open("wb") as file:
                file.writelines(pieces)
        try:
            # Renames over an empty folder too, which Triton makes before it looks for anything.
            fresh.rename(final)
        except OSError:
            added = add_missing(final, fresh)
        else:
            return WRITTEN
    finally:
        rmtree(staging, ignore_errors=True)
    if not is_complete(final, group, files, seen_at / key):
        return UNUSABLE
    return WRITTEN if added else PRESENT


def write_entries(folder: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Write `files`, (entry/name, content) as Triton made them elsewhere, below the cache folder `folder`.

    Entries that are there stay as they are.
    """
    entries: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
    for name, content in files:
        entry, _, inner = name.partition("/")
        entries[entry][inner] = content
    if entries:
        folder.mkdir(parents=True, exist_ok=True)
    for entry, contents in entries.items():
        group = next((name for name in contents if name.startswith(GROUP)), None)
        kernel = None
        if group is not None:
            kernel = group.removeprefix(GROUP).removesuffix(SUFFIX)
            named = json.loads(contents.pop(group))["child_paths"]
            contents = {name: contents[name] for name in named} | contents
        place_entry(entry, kernel, {name: [data] for name, data in contents.items()}, folder, folder)


def list_kernel_entries(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield (entry, kernel) of each entry in `folder` that holds a complete kernel."""
    for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
        for group in sorted(entry.glob(f"{GROUP}*{SUFFIX}")) if entry.is_dir() else ():
            yield entry.name, group.name.removeprefix(GROUP).removesuffix(SUFFIX)


def group_files(
    group: str | None, files: Mapping[str, Iterable[bytes]], seen_at: Path
) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the files of an entry, the group file last, whose paths are those of a folder seen as `seen_at`."""
    yield from files.items()
    if group is not None:
        children = {"child_paths": {name: str(seen_at / name) for name in files}}
        yield f"{GROUP}{group}{SUFFIX}", [json.dumps(children).encode()]


def is_complete(final: Path, group: str | None, names: Iterable[str], seen_at: Path) -> bool:
    """Return whether Triton, which sees `final` as `seen_at`, finds `names` there, or its own files of the kernel."""
    if group is None:
        return all((final / name).is_file() for name in names)
    try:
        children = json.loads(read_regular_file(final / f"{GROUP}{group}{SUFFIX}", JSON_BYTES))["child_paths"]
        own = {name: str(seen_at / name) for name in children}
        places = (final / name if path == own[name] else Path(path) for name, path in children.items())
        return bool(children) and all(place.exists() for place in places)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def add_missing(final: Path, fresh: Path) -> int:
    """Link the files of `fresh` that `final` lacks into it, the group file last; return how many were added."""
    added = 0
    for path in sorted(fresh.iterdir(), key=lambda path: path.name.startswith(GROUP)):
        try:
            os.link(path, final / path.name)
            added += 1
        except FileExistsError:
            continue
        except OSError:  # a file system without links
            break
    return added


def is_file_name(name: str) -> bool:
    """Return whether `name` can be a file directly in an entry, and is not a group or temporary file of Triton."""
    return (
        0 < len(name.encode("utf-8", "surrogatepass")) <= NAME_BYTES
        and name.isprintable()
        and not re.search(r'[/\\:*?"|]', name)
        and name not in {".", ".."}
        and not name.startswith(("__grp__", "tmp.pid_"))
    )

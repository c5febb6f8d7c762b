"""The entries of a pack to a cache folder, beside processes that use it: whole entries, and none that is there.

An entry is written to a folder of its own on the same file system and renamed: whoever looks sees all of it or none.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.machine.cache_entries import GROUP, SUFFIX
from triton_doctor.machine.packs.manifest import KERNEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from triton_doctor.machine.packs.manifest import PackedEntry

STAGING = ".triton-doctor-unpack-"
FREE_SHARE = 0.95


@dataclass(slots=True, kw_only=True)
class InstallCounts:
    """What became of the entries: `written` and `present` by kind; `unusable` are there, and Triton cannot use them."""

    written: Counter[str] = field(default_factory=Counter)
    present: Counter[str] = field(default_factory=Counter)
    unusable: list[str] = field(default_factory=list)


def install(
    entries: Iterable[tuple[PackedEntry, Mapping[str, bytes]]], folder: Path, *, seen_at: Path
) -> InstallCounts:
    """Write `entries` into `folder`, which the processes that use it see as `seen_at`.

    Never overwrites: an entry that is there stays as it is, and is completed where it lacks files. Raises DoctorError
    where nothing can be written; what was written until then is whole.
    """
    counts = InstallCounts()
    with staging_folder(folder) as staging:
        for entry, files in entries:
            try:
                state = install_entry(entry, files, folder, staging, seen_at)
            except OSError as error:
                raise DoctorError(
                    f"{folder}: {reason_of(error)}, after {counts.written.total()} entries", hint="unpack it again"
                ) from error
            match state:
                case "written":
                    counts.written[entry.kind] += 1
                case "present":
                    counts.present[entry.kind] += 1
                case _:
                    counts.unusable.append(entry.key)
    return counts


@contextmanager
def staging_folder(folder: Path) -> Iterator[Path]:
    """A folder in `folder`, removed in the end. Raises DoctorError where none can be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=STAGING, dir=folder))
    except OSError as error:
        raise DoctorError(
            f"cannot write into {folder}: {reason_of(error)}", hint="--cache-dir names another"
        ) from error
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def install_entry(entry: PackedEntry, files: Mapping[str, bytes], folder: Path, staging: Path, seen_at: Path) -> str:
    """Put one entry into `folder`: "written", "present", or "unusable" where what is there cannot be used."""
    final, fresh = folder / entry.key, staging / entry.key
    if final.is_symlink() or (final.exists() and not final.is_dir()):
        return "unusable"
    if is_complete(final, entry):
        return "present"
    fresh.mkdir()
    for name, data in order_files(entry, files, seen_at / entry.key):
        (fresh / name).write_bytes(data)
    try:
        # Renames over an empty folder too, which Triton makes before it looks for anything.
        fresh.rename(final)
    except OSError:
        return complete_entry(final, fresh, entry)
    return "written"


def order_files(entry: PackedEntry, files: Mapping[str, bytes], seen_at: Path) -> Iterator[tuple[str, bytes]]:
    """The files of `entry` as Triton keeps them in a folder that it sees as `seen_at`; the group file is the last."""
    yield from files.items()
    if entry.kind == KERNEL:
        group = {"child_paths": {name: str(seen_at / name) for name in files}}
        yield f"{GROUP}{entry.kernel}{SUFFIX}", json.dumps(group).encode()


def is_complete(final: Path, entry: PackedEntry) -> bool:
    """Whether Triton finds the files of `entry` in `final`, or what it wrote there itself."""
    if entry.kind != KERNEL:
        return all((final / file.name).is_file() for file in entry.files)
    try:
        group = json.loads((final / f"{GROUP}{entry.kernel}{SUFFIX}").read_bytes())
        return bool(group["child_paths"]) and all(os.path.exists(path) for path in group["child_paths"].values())  # noqa: PTH110
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def complete_entry(final: Path, fresh: Path, entry: PackedEntry) -> str:
    """Add to `final`, which holds something, the files of `fresh` that it lacks, the group file last."""
    added = 0
    for path in sorted(fresh.iterdir(), key=lambda path: path.name.startswith(GROUP)):
        try:
            os.link(path, final / path.name)
            added += 1
        except FileExistsError:
            continue
        except OSError:  # a file system without links
            return "unusable"
    if not is_complete(final, entry):
        return "unusable"
    return "written" if added else "present"


def require_room(size_bytes: int, folder: Path) -> None:
    """Raise DoctorError where the file system of `folder` has no room for `size_bytes`."""
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(nearest).free
    if size_bytes > free * FREE_SHARE:
        raise DoctorError(
            f"the pack unpacks to {size_bytes:,} bytes, and {nearest} has {free:,} free",
            hint="--cache-dir names another folder",
        )

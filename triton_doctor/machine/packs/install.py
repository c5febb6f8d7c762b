"""The entries of a pack to a cache folder, and what became of each."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triton_doctor.cache_placement import PRESENT, WRITTEN, place_entry
from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.machine.packs.manifest import KERNEL, MANIFEST_BYTES, decode_manifest, encode_manifest
from triton_doctor.regular_files import read_regular_file, write_own_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from triton_doctor.machine.packs.manifest import Manifest, PackedEntry

FREE_SHARE = 0.95
KEPT = "triton-doctor-pack-"


@dataclass(slots=True, kw_only=True)
class InstallCounts:
    """What became of the entries: `written` and `present` by kind; `unusable` are there, and Triton cannot use them."""

    written: Counter[str] = field(default_factory=Counter)
    present: Counter[str] = field(default_factory=Counter)
    unusable: list[str] = field(default_factory=list)


def install(
    entries: Iterable[tuple[PackedEntry, Mapping[str, Iterable[bytes]]]], folder: Path, *, seen_at: Path
) -> InstallCounts:
    """Write `entries` into `folder`, which the processes that use it see as `seen_at`.

    Never overwrites: an entry that is there stays as it is, and is completed where it lacks files. Raises DoctorError
    where nothing can be written; what was written until then is whole.
    """
    counts = InstallCounts()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DoctorError(f"cannot make {folder}: {reason_of(error)}", hint="--cache-dir names another") from error
    for entry, files in entries:
        try:
            state = place_entry(entry.key, entry.kernel if entry.kind == KERNEL else None, files, folder, seen_at)
        except OSError as error:
            raise DoctorError(
                f"{folder}: {reason_of(error)}, after {counts.written.total()} entries",
                hint="unpack it again, or name another folder by --cache-dir",
            ) from error
        if state == WRITTEN:
            counts.written[entry.kind] += 1
        elif state == PRESENT:
            counts.present[entry.kind] += 1
        else:
            counts.unusable.append(entry.key)
    return counts


def keep_manifest(manifest: Manifest, folder: Path) -> None:
    """Store `manifest` in the cache `folder`, so that misses of its kernels can be explained later.

    Raises DoctorError if it cannot be written.
    """
    data = encode_manifest(manifest)
    path = folder / f"{KEPT}{hashlib.sha256(data).hexdigest()[:12]}.json"
    try:
        if not path.exists():
            write_own_file(path, data)
    except OSError as error:
        raise DoctorError(f"{path} cannot be written: {reason_of(error)}", hint="unpack it again") from error


def read_kept_manifests(folder: Path) -> Iterator[Manifest]:
    """Yield the manifests of the packs that were installed into `folder`, without damaged ones."""
    for path in sorted(folder.glob(f"{KEPT}*.json")):
        try:
            yield decode_manifest(read_regular_file(path, MANIFEST_BYTES), str(path))
        except (OSError, DoctorError):
            continue


def require_room(size_bytes: int, folder: Path) -> None:
    """Raise DoctorError where the file system of `folder` has no room for `size_bytes`."""
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(nearest).free
    if size_bytes > free * FREE_SHARE:
        raise DoctorError(
            f"the pack unpacks to {size_bytes:,} bytes, and {nearest} has {free:,} free",
            hint="--cache-dir names another folder",
        )

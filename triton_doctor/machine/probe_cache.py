"""The cache folder: whether kernels can be kept there, and for how long; and what already lies in it."""

from __future__ import annotations

import os
import re
import shutil
import time
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import reason_of
from triton_doctor.machine.cache_damage import describe_damage
from triton_doctor.machine.cache_entries import read_entries, sum_up
from triton_doctor.machine.cache_variants import describe_variants
from triton_doctor.machine.facts import Cache, FileSystem, Flood
from triton_doctor.masking import mask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.machine.cache_entries import CacheEntry
    from triton_doctor.machine.cache_folder import CachePlace

MOUNTS = Path("/proc/self/mountinfo")
ESCAPED = re.compile(r"\\([0-7]{3})")
MOST_SHOWN = 5
# A kernel is looked into from this many variants on; tuning alone makes that many.
VARIANTS_WORTH_A_LOOK = 32
KERNELS_LOOKED_INTO, VARIANTS_LOOKED_INTO = 3, 120
PATIENCE_SECONDS = 0.8


def probe_cache(place: CachePlace, mounts: Path = MOUNTS) -> Cache:
    """Examine the cache folder at `place`. `mounts` is the kernel's table of mounts.

    Reading entries stops after PATIENCE_SECONDS; `is_whole` of the result says whether all were read.
    """
    path = place.path
    nearest = next(folder for folder in (path, *path.parents) if os.path.lexists(folder))
    owner, is_own = find_owner(nearest)
    began = time.monotonic()
    entries = list(takewhile(lambda _: time.monotonic() - began < PATIENCE_SECONDS, read_entries(path)))
    is_whole = time.monotonic() - began < PATIENCE_SECONDS
    content = sum_up(entries)
    by_kernel: dict[str, int] = {}
    for kernel in content.kernels:
        by_kernel[kernel.kernel] = by_kernel.get(kernel.kernel, 0) + kernel.variants
    most = sorted(by_kernel.items(), key=lambda item: (-item[1], item[0]))[:MOST_SHOWN]
    return Cache(
        path=mask(str(path)),
        set_by=place.set_by,
        exists=path.is_dir(),
        problem=mask(problem) if (problem := find_problem(nearest)) else None,
        owner=owner,
        is_own=is_own,
        file_system=find_file_system(nearest, mounts),
        entries=len(entries),
        size_bytes=content.size_bytes,
        is_whole=is_whole,
        most=tuple(most),
        floods=tuple(find_floods(path, entries, [kernel for kernel, _ in most])),
        damaged=tuple(mask(problem) for problem in find_damaged(path, entries)),
    )


def find_problem(folder: Path) -> str | None:
    """Return why nothing can be written into `folder`; None if it is writable."""
    if not folder.is_dir():
        return f"{folder} is no folder"
    try:
        if hasattr(os, "statvfs") and os.statvfs(folder).f_flag & os.ST_RDONLY:
            return f"{folder} is on a file system that is mounted read-only"
    except OSError as error:
        return f"{folder} cannot be reached: {reason_of(error)}"
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return f"this user may not write into {folder}"
    return None


def find_owner(folder: Path) -> tuple[str | None, bool]:
    """Return the owner of `folder`, and whether it is the current user.

    The name is None if the system cannot tell.
    """
    try:
        import pwd

        owner = folder.stat().st_uid
    except (ImportError, OSError):  # Windows has no such users
        return None, True
    try:
        name = pwd.getpwuid(owner).pw_name
    except KeyError:
        name = str(owner)
    return name, owner == os.geteuid()


def find_file_system(folder: Path, mounts: Path) -> FileSystem:
    """Return kind, mount point and free space of the file system of `folder`.

    `mounts` is the kernel's table of mounts.
    """
    kind, mount = find_mount(os.path.realpath(folder), mounts)
    try:
        room = shutil.disk_usage(folder)
        files = os.statvfs(folder) if hasattr(os, "statvfs") else None
    except OSError:
        return FileSystem(kind=kind, mount=mount)
    return FileSystem(
        kind=kind,
        mount=mount,
        size_bytes=room.total,
        free_bytes=room.free,
        free_files=files.f_favail if files and files.f_files else None,
        runs_programs=not (files and files.f_flag & getattr(os, "ST_NOEXEC", 0)),
    )


def find_mount(path: str, mounts: Path) -> tuple[str | None, str]:
    """Return kind and mount point of the file system that holds `path`; the kind is None if unknown.

    The last matching line of `mounts` counts, as later mounts hide earlier ones.
    """
    found: tuple[str | None, str] = (None, "/")
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return found
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) < 5 or not after:
            continue
        point = ESCAPED.sub(lambda match: chr(int(match[1], 8)), fields[4])
        covers = path == point or path.startswith(point.rstrip("/") + "/")
        if covers and len(point) >= len(found[1]):
            found = after.split()[0], point
    return found


def find_damaged(folder: Path, entries: Iterable[CacheEntry]) -> Iterator[str]:
    """Yield what is wrong with those of `entries` that Triton would find and cannot use, as far as time allows."""
    began = time.monotonic()
    for entry in takewhile(lambda _: time.monotonic() - began < PATIENCE_SECONDS, entries):
        try:
            problem = describe_damage(folder / entry.key)
        except OSError:
            continue
        if problem is not None:
            yield f"{entry.key}: {problem}"


def find_floods(folder: Path, entries: Sequence[CacheEntry], kernels: Sequence[str]) -> Iterator[Flood]:
    """Yield those of `kernels` that have many variants, with the parameter that differs most between them.

    Only the first KERNELS_LOOKED_INTO kernels are examined, until one has too few variants.
    """
    for kernel in kernels[:KERNELS_LOOKED_INTO]:
        own = [entry for entry in entries if entry.kernel == kernel]
        if len(own) < VARIANTS_WORTH_A_LOOK:
            return
        stories = describe_variants(folder, own, at_most=VARIANTS_LOOKED_INTO)
        if not stories:
            continue
        story = stories[0]
        worst = max(story.differences, key=lambda found: found.count, default=None)
        yield Flood(
            kernel=kernel,
            variants=len(own),
            place=f"{story.place.path}:{story.place.line}" if story.place else None,
            part=worst.part if worst else None,
            parameter=worst.name if worst else None,
            values=worst.count if worst else 0,
            shown=worst.values[:MOST_SHOWN] if worst else (),
        )

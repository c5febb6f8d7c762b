"""The entries of a cache folder: how they are read, counted by kernel, chosen by age, and removed.

A CacheEntry is one kernel compiled one way. It is read from file names, sizes and the head of its metadata.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.kernel_names import is_generic, report_name
from triton_doctor.machine.cache_source import find_qualname
from triton_doctor.regular_files import NotRegularError, read_head

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

# triton names the folder of an entry by a hash: in hex or URL-safe base64 until 3.2, in base32 since (cache.py).
ENTRY_NAME = re.compile(r"[A-Za-z0-9_-]{40,64}")
GROUP, SUFFIX = "__grp__", ".json"
# What triton alone writes: a kernel in one form (compiler.py), launchers and utilities (backends/*/driver.py), a tuning
# (autotuner.py), and folders for what is being written (cache.py). A .json alone may be anybody's.
WRITTEN_BY_TRITON = re.compile(
    r".+\.(?:source|ttir|glir|ttgir|llir|ptx|cubin|amdgcn|hsaco|spv|sass|autotune\.json)"
    r"|(?:__triton_launcher|cuda_utils|hip_utils)(?:\..+)?\.(?:so|pyd)|tmp\.pid_\d+_[0-9a-f-]+"
)
ANYBODYS = re.compile(r".+\.json|lock")
# "target" is the second key of the metadata since 3.0; until then, and after a hash, it is always within this.
HEAD_BYTES = 512
TARGET = re.compile(rb'"target": ?\{"backend": ?"(?P<backend>\w+)", ?"arch": ?"?(?P<arch>\w+)"?')
# The forms of code that name the kernel's source in their first location, the smallest first.
CODE_FORMS = (".ttir", ".source", ".glir", ".ttgir")
CODE_HEAD_BYTES = 4096
PLACE = re.compile(rb'loc\("(?P<path>[^"]+)":(?P<line>\d+):')


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheEntry:
    """One folder of the cache.

    `kernel` is None for what is no kernel, a launcher say, and for an entry without the group file that makes triton
    find it; its files begin with `stem`, the name of its function. `target` is as in `cuda:90`, None where the metadata
    does not say. `is_tritons` is False where others may have written it. Times are seconds since the epoch:
    `written_at` of the newest file, `used_at` of the last time
    that triton looked, as far as the file system keeps it.
    """

    key: str
    kernel: str | None
    target: str | None
    is_tritons: bool
    size_bytes: int
    written_at: float
    used_at: float
    stem: str = ""


def name_entries(digest: str) -> tuple[str, ...]:
    """Return the folder names that Triton may give the cache entry with the hash `digest`, which is in hex.

    They are its base32 and URL-safe base64 forms; empty if `digest` is not a hash.
    """
    try:
        data = bytes.fromhex(digest)
    except ValueError:
        return ()
    if not data:
        return ()
    return base64.b32encode(data).decode().rstrip("="), base64.urlsafe_b64encode(data).decode().rstrip("=")


def read_entries(folder: Path) -> Iterator[CacheEntry]:
    """Yield every cache entry below `folder`, in no order; nothing if the folder does not exist or cannot be read.

    Entries that are removed during the walk are left out.
    """
    try:
        with os.scandir(folder) as found:
            names = [item.name for item in found if ENTRY_NAME.fullmatch(item.name) and is_folder(item)]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    root = os.fspath(folder)
    for name in names:
        try:
            yield read_entry(root, name)
        except OSError:
            continue


def is_folder(item: os.DirEntry[str]) -> bool:
    """Return whether `item` is a folder itself, not a link to one."""
    try:
        return item.is_dir(follow_symlinks=False)
    except OSError:
        return False


def read_entry(root: str, key: str) -> CacheEntry:
    """Read the entry `key` of the cache folder `root`. Raises OSError if it is removed meanwhile or cannot be read."""
    path = f"{root}/{key}"
    kernel, has_metadata = None, False
    size, written, used = 0, 0.0, 0.0
    with os.scandir(path) as found:
        names = set()
        for item in found:
            status = item.stat(follow_symlinks=False)
            size += status.st_size
            written = max(written, status.st_mtime)
            used = max(used, status.st_mtime)
            names.add(item.name)
            if item.name.startswith(GROUP) and item.name.endswith(SUFFIX):
                kernel = item.name[len(GROUP) : -len(SUFFIX)]
                used = max(used, status.st_atime)
    if kernel is not None:
        has_metadata = f"{kernel}{SUFFIX}" in names
    if not names:
        written = used = os.stat(path).st_mtime  # noqa: PTH116, this loop runs 50,000 times
    target = read_target(f"{path}/{kernel}{SUFFIX}") if has_metadata else None
    return CacheEntry(
        key=key,
        kernel=name_kernel(path, kernel, names) if kernel is not None and has_metadata else None,
        stem=kernel or "",
        target=target,
        is_tritons=kernel is not None or is_written_by_triton(names),
        size_bytes=size,
        written_at=written,
        used_at=used,
    )


def name_kernel(folder: str, kernel: str, files: Collection[str]) -> str:
    """Return the name of `kernel` in reports: its own, or that of the function in its source if its own is generic.

    The place of the source is read from the intermediate code among `files`; without it the own name is returned.
    """
    if not is_generic(kernel):
        return kernel
    code = next((name for form in CODE_FORMS if (name := f"{kernel}{form}") in files), None)
    if code is None:
        return kernel
    try:
        place = PLACE.search(read_head(f"{folder}/{code}", CODE_HEAD_BYTES))
    except (OSError, NotRegularError):
        place = None
    if place is None:
        return kernel
    path = place["path"].decode("utf-8", "replace")
    return report_name(find_qualname(path, int(place["line"])) or kernel, path)


def is_written_by_triton(names: Collection[str]) -> bool:
    """Return whether a folder with files of these `names` was certainly written by Triton.

    At least one name is of a form that only Triton writes, and no name is of a form that Triton never writes.
    """
    sure = [bool(WRITTEN_BY_TRITON.fullmatch(name)) for name in names if not ANYBODYS.fullmatch(name)]
    sure += [True for name in names if name.endswith(".autotune.json")]
    return bool(sure) and all(sure)


def read_target(path: str) -> str | None:
    """Return the target that the metadata file at `path` names, such as `cuda:90`; None if its head has none."""
    try:
        match = TARGET.search(read_head(path, HEAD_BYTES))
    except NotRegularError:
        return None
    return f"{match['backend'].decode()}:{match['arch'].decode()}" if match else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedKernel:
    """A kernel's variants for one target, by its name alone: two kernels of one name count as one."""

    kernel: str
    target: str | None
    variants: int
    size_bytes: int
    newest_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheContent:
    """All that lies in a cache folder. `others` counts entries that are no kernels: launchers, and half entries."""

    kernels: tuple[CachedKernel, ...]
    others: int
    size_bytes: int

    @property
    def variants(self) -> int:
        """Count the kernel entries; a kernel that was compiled in n ways counts n times."""
        return sum(kernel.variants for kernel in self.kernels)


def sum_up(entries: Iterable[CacheEntry]) -> CacheContent:
    """Group `entries` by kernel and target, the kernel with the most variants first."""
    groups: dict[tuple[str, str | None], list[CacheEntry]] = {}
    others = size = 0
    for entry in entries:
        size += entry.size_bytes
        if entry.kernel is None:
            others += 1
        else:
            groups.setdefault((entry.kernel, entry.target), []).append(entry)
    kernels = [
        CachedKernel(
            kernel=kernel,
            target=target,
            variants=len(group),
            size_bytes=sum(entry.size_bytes for entry in group),
            newest_at=max(entry.written_at for entry in group),
        )
        for (kernel, target), group in groups.items()
    ]
    kernels.sort(key=lambda kernel: (-kernel.variants, -kernel.size_bytes, kernel.kernel, kernel.target or ""))
    return CacheContent(kernels=tuple(kernels), others=others, size_bytes=size)


AGE = re.compile(r"(?P<count>\d{1,6})(?P<unit>[smhdw])")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
# A process that has just found an entry opens its files at once; a compile writes them for minutes at most.
IN_USE_SECONDS = 600


def parse_age(text: str) -> int:
    """Convert an age such as `30d` to seconds; units are s, m, h, d and w. Raises DoctorError for anything else."""
    match = AGE.fullmatch(text.strip())
    if match is None:
        raise DoctorError(f"`{text}` is no age", hint="write it as 30d, 12h or 4w")
    return int(match["count"]) * SECONDS[match["unit"]]


def keeps_times_of_use(folder: Path) -> bool:
    """Return whether the file system of `folder` updates access times.

    Without them, an entry counts as last used when it was compiled.
    """
    return not (hasattr(os, "ST_NOATIME") and os.statvfs(folder).f_flag & os.ST_NOATIME)


def choose_old(
    entries: Iterable[CacheEntry], *, older_than_seconds: int, now: float, kernel: str | None = None
) -> Iterator[CacheEntry]:
    """Yield entries last used at least `older_than_seconds` before `now`, only those of `kernel` if given.

    Those used within IN_USE_SECONDS are never chosen, nor are folders that something other than Triton may have
    written: commits in a model hub, for example, have names of the same form.
    """
    limit = now - max(older_than_seconds, IN_USE_SECONDS)
    for entry in entries:
        if entry.is_tritons and entry.used_at <= limit and (kernel is None or entry.kernel == kernel):
            yield entry


def remove_entry(folder: Path, entry: CacheEntry) -> bool:
    """Remove `entry` from the cache `folder`; return whether it is gone. Never follows a link.

    The group file goes first: without it Triton sees no entry, and compiles instead of opening one that is half
    removed. Raises ValueError if the key of `entry` is not a name that Triton gives.
    """
    if not ENTRY_NAME.fullmatch(entry.key):
        raise ValueError(f"{entry.key!r} is no name of a cache entry")
    path = folder / entry.key
    if path.is_symlink() or not path.is_dir():
        return not path.exists()
    try:
        for group in path.glob(f"{GROUP}*{SUFFIX}"):
            group.unlink(missing_ok=True)
        shutil.rmtree(path, ignore_errors=False)
    except FileNotFoundError:
        return not path.exists()
    except OSError:
        return False
    return True

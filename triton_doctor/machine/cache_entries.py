"""The cache folder to CacheEntry: one kernel compiled one way, by file names, sizes and the head of its metadata."""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.kernel_names import report_name, says_nothing
from triton_doctor.machine.cache_source import find_qualname
from triton_doctor.regular_files import NotRegularError, read_head

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
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
    """The names that triton gives the folder of the entry with the hash `digest`, in hex; none for what is no hash."""
    try:
        data = bytes.fromhex(digest)
    except ValueError:
        return ()
    if not data:
        return ()
    return base64.b32encode(data).decode().rstrip("="), base64.urlsafe_b64encode(data).decode().rstrip("=")


def read_entries(folder: Path) -> Iterator[CacheEntry]:
    """Every entry below `folder`, in no order; none where it is not there. What vanishes meanwhile is left out."""
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
    """Whether `item` is a folder itself, rather than a link to one."""
    try:
        return item.is_dir(follow_symlinks=False)
    except OSError:
        return False


def read_entry(root: str, key: str) -> CacheEntry:
    """The entry `key` below `root`. Raises OSError where it vanishes or cannot be read."""
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
    """The name of `kernel` in reports. Where its own says nothing, the code among `files` says where its source is."""
    if not says_nothing(kernel):
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
    """Whether triton must have written a folder of these `names`: some are its own, and the others may be."""
    sure = [bool(WRITTEN_BY_TRITON.fullmatch(name)) for name in names if not ANYBODYS.fullmatch(name)]
    sure += [True for name in names if name.endswith(".autotune.json")]
    return bool(sure) and all(sure)


def read_target(path: str) -> str | None:
    """`cuda:90` of the metadata at `path`; None where its head does not say."""
    try:
        match = TARGET.search(read_head(path, HEAD_BYTES))
    except NotRegularError:
        return None
    return f"{match['backend'].decode()}:{match['arch'].decode()}" if match else None

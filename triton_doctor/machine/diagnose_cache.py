"""The cache folder to findings TRD611 to TRD616: kernels not kept, not shared safely, kept without end, or damaged."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from triton_doctor.finding import MachineFinding, Severity
from triton_doctor.variables import TAKES_EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.machine.facts import Cache, Flood, Machine
    from triton_doctor.variables import Version

# As /proc/self/mountinfo names them. A cache is written by many small renames, which these answer with EBUSY or ESTALE.
NETWORK = frozenset(
    "nfs nfs4 cifs smb3 smbfs 9p afs ceph lustre gpfs beegfs panfs wekafs ocfs2 gfs2 glusterfs orangefs pvfs2".split()
    + "fuse.sshfs fuse.s3fs fuse.glusterfs fuse.juicefs fuse.gcsfuse fuse.blobfuse2 fuse.rclone fuse.lustre".split()
    + "fuse.ceph fuse.dfuse fuse.goofys fuse.mount-s3 fuse.jfs fuse.moosefs".split()
)
IN_MEMORY = frozenset({"tmpfs", "ramfs"})
OF_CONTAINERS = frozenset({"overlay", "overlayfs", "aufs", "fuse.fuse-overlayfs"})
LOCAL = 'export TRITON_CACHE_DIR="${TMPDIR:-/tmp}/triton-$(id -u)"'
# A variant takes some 50 kB on disk, a large kernel's megabytes.
FEW_BYTES, FEW_FILES = 2**30, 10_000
ROOM_FOR_ONE = 2**23
MOST_NAMED = 3
# Tuning a kernel for a few dtypes leaves tens of variants; a parameter that follows the data leaves more.
MANY_VARIANTS, MANY_VALUES = 100, 32


def diagnose_cache(machine: Machine, version: Version) -> Iterator[MachineFinding]:
    """Yield the findings about the cache folder, TRD611 to TRD616."""
    cache = machine.cache
    if machine.variables.get("TRITON_CACHE_DIR") == "":
        if version >= TAKES_EMPTY:
            yield MachineFinding(
                code="TRD614",
                severity=Severity.ERROR,
                message="there is no place for the cache: `TRITON_CACHE_DIR` is empty, so every compile fails",
                evidence=f"triton {version} takes an empty value as it is, and looks for no other folder",
                remedy="unset it, or name a folder",
                command="unset TRITON_CACHE_DIR",
            )
        return
    if cache is None:
        yield MachineFinding(
            code="TRD614",
            severity=Severity.ERROR,
            message="there is no place for the cache: HOME is not set, and this user has no home",
            evidence="neither TRITON_CACHE_DIR nor HOME is set",
            remedy="set TRITON_CACHE_DIR",
            command=LOCAL,
        )
        return
    yield from find_not_writable(cache)
    yield from find_network(cache)
    if cache.problem is None:
        yield from find_nearly_full(cache)
    yield from find_not_kept(cache, in_container=machine.in_container, home=machine.variables.get("TRITON_HOME"))
    if cache.damaged:
        yield describe_damaged(cache)
    yield from (flooded(cache, flood) for flood in cache.floods if is_flood(flood))


def find_not_writable(cache: Cache) -> Iterator[MachineFinding]:
    """Yield TRD611: an error if the first compile or launch will fail, a warning if the folder is another user's."""
    if cache.problem is not None:
        yield MachineFinding(
            code="TRD611",
            severity=Severity.ERROR,
            message=f"the cache folder {cache.path} cannot be written, so the first compile fails",
            evidence=cache.problem,
            remedy="name a folder that this user may write",
            command=LOCAL,
        )
    elif not cache.file_system.runs_programs:
        yield MachineFinding(
            code="TRD611",
            severity=Severity.ERROR,
            message=f"no library can be loaded from the cache folder {cache.path}, so the first launch fails",
            evidence=f"{cache.file_system.mount} is mounted noexec, and Triton loads its launchers from there",
            remedy="name a folder on a file system without noexec",
            command=LOCAL,
        )
    elif cache.exists and not cache.is_own:
        yield MachineFinding(
            code="TRD611",
            severity=Severity.WARNING,
            message=f"the cache folder {cache.path} belongs to another user",
            evidence=f"its owner is {cache.owner}: what either writes, the other may not replace",
            remedy="give each user a folder",
            command=LOCAL,
        )


def find_network(cache: Cache) -> Iterator[MachineFinding]:
    """Yield TRD612 if the cache folder is on a network file system."""
    if cache.file_system.kind in NETWORK:
        yield MachineFinding(
            code="TRD612",
            severity=Severity.WARNING,
            message=f"the cache folder {cache.path} is on a network file system",
            evidence=f"{cache.file_system.mount} is {cache.file_system.kind}; ranks that write at once can crash",
            remedy="name a folder on a disk of this machine",
            command=LOCAL,
        )


def find_nearly_full(cache: Cache) -> Iterator[MachineFinding]:
    """Yield TRD613 if the file system of the cache folder has little space, or room for few files."""
    room = cache.file_system
    if room.size_bytes and room.free_bytes < FEW_BYTES:
        evidence = f"{room.free_bytes / 1e6:,.0f} MB of {room.size_bytes / 1e6:,.0f} MB are free on {room.mount}"
    elif room.free_files is not None and room.free_files < FEW_FILES:
        evidence = f"{room.free_files:,} more files fit on {room.mount}, and a variant takes ten"
    else:
        return
    is_full = room.free_bytes < ROOM_FOR_ONE or room.free_files == 0
    is_small = room.size_bytes and room.size_bytes - room.free_bytes < room.free_bytes < FEW_BYTES
    yield MachineFinding(
        code="TRD613",
        severity=Severity.ERROR if is_full else Severity.WARNING,
        message=f"the file system of the cache folder {cache.path} is {'small' if is_small else 'nearly full'}",
        evidence=evidence,
        remedy="name another folder"
        if is_small
        else "remove kernels that were not used for long, or name another folder",
        command=LOCAL
        if is_small
        else shlex.join(["triton-doctor", "cache", "prune", "--older-than", "30d", "--cache-dir", cache.path]),
    )


def find_not_kept(cache: Cache, *, in_container: bool, home: str | None) -> Iterator[MachineFinding]:
    """Yield TRD614 if the kernels in the cache folder will be lost, or are spread over working directories.

    `home` is the value of TRITON_HOME, None if it is not set.
    """
    kind = cache.file_system.kind
    severity = Severity.INFO
    remedy = "mount a volume and set TRITON_CACHE_DIR to a folder in it"
    if cache.set_by in {"HOME", None} and cache.path == "/.triton/cache":
        severity = Severity.WARNING
        message, evidence = "HOME is /, so the cache folder is /.triton/cache", "the user of this process has no home"
    elif cache.set_by == "TRITON_HOME" and home == "":
        severity, remedy = Severity.WARNING, "unset it, or name a folder"
        message = "`TRITON_HOME` is empty, so kernels are kept in .triton/cache below each working directory"
        evidence = "triton takes an empty value as it is, and not as the user's home"
    elif kind in IN_MEMORY:
        message = f"the cache folder {cache.path} is lost when this machine restarts"
        evidence = f"{cache.file_system.mount} is {kind}, which is kept in memory"
    elif in_container and kind in OF_CONTAINERS:
        message = f"the cache folder {cache.path} is lost with this container: the next one compiles every kernel again"
        evidence = f"it lies in the container's own layer ({kind}), and no volume is mounted there"
    else:
        return
    yield MachineFinding(
        code="TRD614",
        severity=severity,
        message=message,
        evidence=evidence,
        remedy=remedy,
    )


def describe_damaged(cache: Cache) -> MachineFinding:
    """Build finding TRD616: the cache has entries that Triton finds and cannot use."""
    first, *others = cache.damaged
    more = f", and {len(others):,} more" if others else ""
    return MachineFinding(
        code="TRD616",
        severity=Severity.ERROR,
        message=f"the cache folder {cache.path} holds entries that Triton finds and cannot use",
        evidence=f"{first}{more}",
        remedy="remove these folders: their kernels and launchers are made again at the next launch",
        command=shlex.join(
            ["rm", "-r", *[f"{cache.path}/{entry.partition(':')[0]}" for entry in cache.damaged[:MOST_NAMED]]]
        ),
    )


def is_flood(flood: Flood) -> bool:
    """Return whether a kernel has more variants than tuning and a few dtypes can explain."""
    return flood.variants >= MANY_VARIANTS or (flood.part == "constexpr" and flood.values >= MANY_VALUES)


def flooded(cache: Cache, flood: Flood) -> MachineFinding:
    """Build finding TRD615: `flood` shows that a kernel was recompiled for value after value."""
    if flood.part in {"constexpr", "argument", "option"} and flood.parameter:
        shown = f" ({', '.join(flood.shown)}, ...)" if flood.shown else ""
        because = f"`{flood.parameter}` has {flood.values} values among those read{shown}"
    elif flood.parameter:
        because = f"a constant at {flood.parameter} has {flood.values} values among those read"
    else:
        because = "what differs between them cannot be read from what the cache keeps"
    remedies = {
        "constexpr": f"make `{flood.parameter}` a plain argument, or round it up to a power of two",
        "option": f"launch with few values of `{flood.parameter}`",
    }
    place = f", defined at {flood.place}" if flood.place else ""
    return MachineFinding(
        code="TRD615",
        severity=Severity.WARNING,
        message=f"`{flood.kernel}` has {flood.variants:,} variants in the cache: each was a compile",
        evidence=f"{because}{place}",
        remedy=remedies.get(flood.part or "", "see what differs between its variants"),
        command=shlex.join(["triton-doctor", "cache", "show", flood.kernel, "--cache-dir", cache.path]),
    )

"""What a child of a sweep can reach: nothing but a scratch folder changes, and no network is there.

Three means, used together where the kernel has them; each works without privileges.

- Namespaces: processes of its own, which end with the child; a network of its own, without any connection; all file
  systems read-only but the scratch folder, and no device but /dev/null and its like.
- Landlock (Linux 5.13): no file is written or removed outside of the scratch folder; from 6.12 no signal gets out.
- A filter of system calls (`system_calls`), always: it refuses what the other means leave open.

A sandbox needs the filter, and namespaces or Landlock. `Walls` says which are used; `probe_walls` finds them by trying
in a process of its own, because a kernel, a container or AppArmor may refuse any step. A child can still read what the
user can read: nothing that it reads leaves it but in its answer.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import resource
import struct
from typing import TYPE_CHECKING, Literal

import msgspec

from triton_doctor.explore.system_calls import (
    call_kernel,
    forbid_new_privileges,
    knows_machine,
    libc,
    refuse_system_calls,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.explore.model import Limits

Means = Literal["namespaces", "landlock"]
ALL_MEANS: tuple[Means, ...] = ("namespaces", "landlock")

# CLONE_NEWUSER, NEWNS, NEWPID, NEWNET, NEWIPC (linux sched.h).
_OWN_NAMESPACES = 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x20, 0x1000, 0x4000, 1 << 18
# Flags of a mount that a remount must keep, by their names in /proc/self/mountinfo.
_MOUNT_FLAGS = {
    "ro": _MS_RDONLY, "nosuid": _MS_NOSUID, "nodev": _MS_NODEV, "noexec": _MS_NOEXEC, "noatime": 1 << 10,
    "nodiratime": 1 << 11, "relatime": 1 << 21,
}  # fmt: skip
_DEVICES = ("null", "zero", "full", "random", "urandom")
_DEV_SIZE = "64m"
_MOST_PROCESSES = 301
# Landlock (linux landlock.h): the same numbers on every machine.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_BY_PATH = 1
_WRITE_FILE = 1 << 1
# Removing and making each kind of file; and by the ABI that knows it: to move, to truncate, to control devices.
_CHANGES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
_LATER_CHANGES = {2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
_FILE_CHANGES = _WRITE_FILE | _LATER_CHANGES[3] | _LATER_CHANGES[5]
_SCOPED_ABI, _SCOPES = 6, 0b11
_CAPABILITIES = 64
_PR_CAPBSET_DROP, _PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_CAP_AMBIENT = 24, 1, 36, 47
_SIGKILL, _SIGTERM = 9, 15


class Walls(msgspec.Struct, frozen=True, kw_only=True):
    """The means that confine a child. Without any there is no sandbox."""

    namespaces: bool = False
    landlock: int = 0

    @property
    def are_there(self) -> bool:
        """Return whether nothing outside of the scratch folder can change."""
        return self.namespaces or self.landlock > 0

    def __str__(self) -> str:
        """Say how files and the network are kept from a child."""
        if not self.are_there:
            return "not sandboxed: the code ran with your rights"
        if self.namespaces:
            return "sandboxed: files kept read-only by a mount namespace, network cut off by a network namespace"
        return "sandboxed: files kept read-only by Landlock, network cut off by a seccomp filter"


def probe_walls(scratch: str, means: tuple[Means, ...] = ALL_MEANS) -> Walls:
    """Return those of `means` that work here; each is tried in a process of its own, which ends at once."""
    if not knows_machine():
        return Walls()
    abi = _landlock_abi() if "landlock" in means else 0
    for walls in (Walls(namespaces=True, landlock=abi), Walls(landlock=abi)):
        if walls.are_there and (not walls.namespaces or "namespaces" in means) and _works(walls, scratch):
            return walls
    return Walls()


def _works(walls: Walls, scratch: str) -> bool:
    process = os.fork()
    if not process:
        with contextlib.suppress(BaseException):
            separate(walls)
            inner = os.fork()
            if not inner:
                confine(walls, scratch)
                os._exit(0 if _is_confined(scratch) else 1)
            os._exit(os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1]) & 0xFF)
        os._exit(1)
    return os.waitpid(process, 0)[1] == 0


def _is_confined(scratch: str) -> bool:
    """Try what must work, and what must not: a file in `scratch`, and one beside it."""
    os.close(os.open(f"{scratch}/probe", os.O_CREAT | os.O_WRONLY, 0o600))
    os.unlink(f"{scratch}/probe")
    try:
        os.close(os.open(f"{scratch}-probe", os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError:
        return True
    os.unlink(f"{scratch}-probe")
    return False


def separate(walls: Walls) -> None:
    """Give the children of this process namespaces of their own, if `walls` has them. Raises OSError."""
    if not walls.namespaces:
        # Whose parent ends becomes a child of this process, which ends it.
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        return
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_OWN_NAMESPACES):
        raise _error("unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        _write(f"/proc/self/{name}", text)


def confine(walls: Walls, scratch: str) -> None:
    """Confine this process, a child of one that is separate, and all that it will start. Raises OSError."""
    end_with_parent(_SIGKILL)
    if walls.namespaces:
        _mount_read_only(scratch)
    if walls.are_there:
        _drop_capabilities()
        forbid_new_privileges()
    if walls.landlock:
        _forbid_changes(walls.landlock, scratch, walls.namespaces)
    if walls.are_there:
        refuse_system_calls(
            has_own_network=walls.namespaces,
            has_own_mounts=walls.namespaces,
            has_own_processes=walls.namespaces,
            has_own_signals=walls.namespaces or walls.landlock >= _SCOPED_ABI,
        )


def end_with_parent(signal: int = _SIGTERM) -> None:
    """Send this process `signal` when its parent ends."""
    if hasattr(libc, "prctl"):
        libc.prctl(_PR_SET_PDEATHSIG, signal, 0, 0, 0)


def limit_resources(limits: Limits, memory: int, is_separate: bool) -> None:
    """Bound what this process and each of its descendants may use; `memory` is in bytes, beyond what it has now."""
    own = int(_read("/proc/self/statm").split()[0]) * resource.getpagesize() if os.path.exists("/proc/self") else 0
    tasks = 0 if is_separate else sum(1 for _ in _tasks_of(os.getuid()))
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_AS, own + memory),
        (resource.RLIMIT_CPU, int(limits.wall_s) + 1),
        (resource.RLIMIT_NPROC, tasks + limits.processes),
    ):
        _, hard = resource.getrlimit(kind)
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (bound, bound))
    # The first to go if memory ends all the same.
    with contextlib.suppress(OSError):
        _write("/proc/self/oom_score_adj", "1000")


def _tasks_of(user: int) -> Iterator[str]:
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdecimal() and os.stat(f"/proc/{name}").st_uid == user:
                yield from os.listdir(f"/proc/{name}/task")


def _mount_read_only(scratch: str) -> None:
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    _mount(scratch, scratch, None, _MS_BIND)
    _mount_devices()
    for line in _read("/proc/self/mountinfo").splitlines():
        fields = line.split()
        where = re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), fields[4])
        if f"{where}/".startswith("/dev/"):
            continue
        flags = sum(_MOUNT_FLAGS.get(word, 0) for word in fields[5].split(","))
        flags |= _MS_NOSUID | _MS_NODEV | (0 if where == scratch else _MS_RDONLY)
        try:
            _mount(None, where, None, _MS_REMOUNT | _MS_BIND | flags)
        except (FileNotFoundError, NotADirectoryError):
            continue  # covered by another mount: no path leads there
        except PermissionError:
            # A folder of another user's, which cannot be entered; what can be looked at must be read-only.
            if os.access(where, os.F_OK):
                raise
    # Refused where a container hides parts of its own: then that stays, read-only, with the numbers of outside.
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    with contextlib.suppress(OSError):
        _mount("proc", "/proc", "proc", flags)
        # From Linux 6.14 a bound of each namespace, for root too, whom RLIMIT_NPROC does not bind; 301 is the least.
        with contextlib.suppress(OSError):
            _write("/proc/sys/kernel/pid_max", str(_MOST_PROCESSES))
        _mount(None, "/proc", None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | flags)
    # The folder that was entered before is beneath the new mounts.
    os.chdir(scratch)


def _mount_devices() -> None:
    """Cover /dev by a small file system of its own, with the devices that any program may use."""
    devices = {name: os.open(f"/dev/{name}", os.O_PATH) for name in _DEVICES if os.path.exists(f"/dev/{name}")}
    _mount("tmpfs", "/dev", "tmpfs", _MS_NOSUID | _MS_NOEXEC, f"size={_DEV_SIZE},mode=755")
    os.mkdir("/dev/shm")
    os.symlink("/proc/self/fd", "/dev/fd")
    for name, descriptor in devices.items():
        os.close(os.open(f"/dev/{name}", os.O_CREAT | os.O_WRONLY, 0o666))
        _mount(f"/proc/self/fd/{descriptor}", f"/dev/{name}", None, _MS_BIND)
        os.close(descriptor)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    source_, kind_, data_ = (None if text is None else os.fsencode(text) for text in (source, kind, data))
    if libc.mount(source_, os.fsencode(target), kind_, ctypes.c_ulong(flags), data_):
        raise _error(f"mount {target}")


def _drop_capabilities() -> None:
    """Give up every capability, those of root too, for programs that are started as well."""
    for number in range(_CAPABILITIES):
        libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    libc.prctl(_PR_CAP_AMBIENT, 4, 0, 0, 0)
    header = struct.pack("Ii", 0x20080522, 0)  # version 3 (linux capability.h)
    if libc.capset(ctypes.create_string_buffer(header), ctypes.create_string_buffer(24)):
        raise _error("capset")


def _landlock_abi() -> int:
    try:
        return call_kernel(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    except OSError:
        return 0


def _forbid_changes(abi: int, scratch: str, has_own_mounts: bool) -> None:
    handled = _CHANGES | sum(change for least, change in _LATER_CHANGES.items() if abi >= least)
    attributes = struct.pack("QQQ", handled, 0, _SCOPES if abi >= _SCOPED_ABI else 0)
    size = len(attributes) if abi >= _SCOPED_ABI else 8
    rules = call_kernel(_CREATE_RULESET, ctypes.create_string_buffer(attributes), ctypes.c_size_t(size), 0)
    # In the namespace of the child /dev is a small file system of its own.
    places = {scratch: handled, **{f"/dev/{name}": handled & _FILE_CHANGES for name in _DEVICES}}
    if has_own_mounts:
        places["/dev/shm"] = handled
    for path, allowed in places.items():
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rule = ctypes.create_string_buffer(struct.pack("=Qi", allowed, descriptor))
            call_kernel(_ADD_RULE, rules, _BY_PATH, rule, 0)
            os.close(descriptor)
    call_kernel(_RESTRICT_SELF, rules, 0)
    os.close(rules)


def _error(what: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, f"{what}: {os.strerror(code)}")


def _read(path: str) -> str:
    with open(path) as file:
        return file.read()


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)

"""What the kernel refuses to a process for good: system calls, by a seccomp filter made here, without privileges.

In: the machine, and what else confines the process. Out: a program of classic BPF that the kernel runs at each system
call of the process and of its descendants. It is the part of the sandbox that every Linux has.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Numbers of system calls (linux asm/unistd_64.h and asm-generic/unistd.h); None where the machine has no such call.
_MACHINES = ("x86_64", "aarch64")
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_Numbers = tuple[int | None, int | None]
# Reaching other processes, the kernel's keys and objects that are no files, and ways around this filter.
_OTHERS: dict[str, _Numbers] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "io_uring_setup": (425, 425), "bpf": (321, 280), "perf_event_open": (298, 241), "open_by_handle_at": (304, 265),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "shmget": (29, 194), "shmctl": (31, 195), "semget": (64, 190), "semctl": (66, 191), "msgget": (68, 186),
    "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181),
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430),
    "mount_setattr": (442, 442),
}  # fmt: skip
# What only the mount namespace refuses elsewhere: Landlock does not know of it (up to ABI 7), or not in early versions.
_ATTRIBUTES: dict[str, _Numbers] = {
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14),
    "lremovexattr": (198, 15), "fremovexattr": (199, 16), "setxattrat": (463, 463), "removexattrat": (466, 466),
    "file_setattr": (469, 469),
}  # fmt: skip
_TRUNCATE: _Numbers = (76, 45)
# To be made for the process itself only, by its number or 0, where other processes are seen.
_SIGNALS: dict[str, _Numbers] = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
}  # fmt: skip
_SETTINGS: dict[str, _Numbers] = {
    "prlimit64": (302, 261), "sched_setscheduler": (144, 119), "sched_setparam": (142, 118),
    "sched_setaffinity": (203, 122), "sched_setattr": (314, 274),
}  # fmt: skip
_SECOND_ARGUMENT_OTHERS: dict[str, _Numbers] = {"setpriority": (141, 140), "ioprio_set": (251, 30)}
_PIDFD_SEND_SIGNAL: _Numbers = (424, 424)
_SOCKET: _Numbers = (41, 198)
_CLONE: _Numbers = (56, 220)
_CLONE3: _Numbers = (435, 435)
_PRCTL: _Numbers = (157, 167)

# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET (linux sched.h).
_NEW_NAMESPACES = 0x7E020000
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_AF_INET, _AF_INET6 = 2, 10
# Operations of classic BPF, and the fields of `struct seccomp_data` (linux filter.h, seccomp.h).
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_X32 = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)


def knows_machine() -> bool:
    """Return whether the numbers of this machine's system calls are known."""
    return os.name == "posix" and platform.system() == "Linux" and platform.machine() in _MACHINES


def call_kernel(number: int, *arguments: object) -> int:
    """Make the system call `number`. Raises OSError."""
    result: int = libc.syscall(ctypes.c_long(number), *arguments)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def forbid_new_privileges() -> None:
    """Make sure that no program that this process starts has more rights than it. Raises OSError."""
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs is refused")


def refuse_system_calls(
    *, has_own_network: bool, has_own_mounts: bool, has_own_processes: bool, has_own_signals: bool
) -> None:
    """Refuse to this process, for good, what the other means leave open. Raises OSError.

    With `has_own_network` internet sockets are made, and reach nothing. Without `has_own_mounts` a change of the modes,
    owners and times of files does nothing, and is no error: programs that copy files go on.
    """
    program = b"".join(_instructions(has_own_network, has_own_mounts, has_own_processes, has_own_signals))
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    if libc.prctl(_PR_SET_SECCOMP, 2, ctypes.create_string_buffer(header), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp filters are refused")


def _instructions(
    has_own_network: bool, has_own_mounts: bool, has_own_processes: bool, has_own_signals: bool
) -> Iterable[bytes]:
    at = _MACHINES.index(platform.machine())

    def numbers(calls: Iterable[_Numbers]) -> list[int]:
        return [number for call in calls if (number := call[at]) is not None]

    denied, none, missing = _ERROR | errno.EPERM, _ERROR, _ERROR | errno.ENOSYS
    yield _step(_LOAD, _ARCHITECTURE)
    yield _step(_EQUAL, _ARCHITECTURES[platform.machine()], 1, 0)
    yield _step(_RETURN, _KILL)
    yield _step(_LOAD, _NUMBER)
    yield from _rule(_AT_LEAST, _X32, missing)
    # glibc falls back to `clone`, whose flags are seen here; those of `clone3` are in memory.
    for number in numbers([_CLONE3]):
        yield from _rule(_EQUAL, number, missing)
    for number in numbers(_OTHERS.values()):
        yield from _rule(_EQUAL, number, denied)
    for number in numbers([_CLONE]):
        yield from _rule_on_argument(number, 0, [_step(_ANY_BIT, _NEW_NAMESPACES, 0, 1), _step(_RETURN, denied)])
    # What ends this process with its parent stays so.
    for number in numbers([_PRCTL]):
        yield from _rule_on_argument(number, 0, [_step(_EQUAL, _PR_SET_PDEATHSIG, 0, 1), _step(_RETURN, none)])
    for number in numbers([_SOCKET]):
        families = (_AF_INET, _AF_INET6) if has_own_network else ()
        allowed = [_step(_EQUAL, family, len(families) - index, 0) for index, family in enumerate(families)]
        yield from _rule_on_argument(number, 0, [*allowed, _step(_RETURN, denied)])
    if not has_own_mounts:
        for number in numbers(_ATTRIBUTES.values()):
            yield from _rule(_EQUAL, number, none)
        for number in numbers([_TRUNCATE]):
            yield from _rule(_EQUAL, number, denied)
    own = [_step(_EQUAL, os.getpid(), 2, 0), _step(_EQUAL, 0, 1, 0), _step(_RETURN, denied)]
    if not has_own_signals:
        for number in numbers(_SIGNALS.values()):
            yield from _rule_on_argument(number, 0, own)
        for number in numbers([_PIDFD_SEND_SIGNAL]):
            yield from _rule(_EQUAL, number, denied)
    if not has_own_processes:
        for number in numbers(_SETTINGS.values()):
            yield from _rule_on_argument(number, 0, own)
        for number in numbers(_SECOND_ARGUMENT_OTHERS.values()):
            yield from _rule_on_argument(number, 1, own)
    yield _step(_RETURN, _ALLOW)


def _step(operation: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", operation, if_true, if_false, value)


def _rule(test: int, number: int, answer: int) -> Iterable[bytes]:
    return _step(test, number, 0, 1), _step(_RETURN, answer)


def _rule_on_argument(number: int, argument: int, steps: list[bytes]) -> Iterable[bytes]:
    """Apply `steps` to the lower half of an argument of the system call `number`; past them, go on."""
    return (
        _step(_EQUAL, number, 0, len(steps) + 2),
        _step(_LOAD, _ARGUMENTS + 8 * argument),
        *steps,
        _step(_LOAD, _NUMBER),
    )

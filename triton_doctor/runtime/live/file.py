"""The live file of a process: what it does now, in place, where `top` and `run` read it.

It lies in memory of the machine, in a folder of this user's, by process id and the time of its start. It is mapped into
the process: to write is to copy a few hundred bytes, which waits for nobody and is no system call; a checksum shows a
reader that it came in between. No descriptor is kept, which the program could close or take over. A process removes its
file when it ends; that of a process which was killed says what it was doing.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
import os
import socket
import sys
import threading
import time
import zlib
from typing import TYPE_CHECKING

from triton_doctor.runtime import hooks
from triton_doctor.runtime.event import COMPILED, AutotuneEvent, CompileEvent, FailureEvent
from triton_doctor.runtime.hooks.process_state import rank
from triton_doctor.runtime.launch.environment import RUN
from triton_doctor.runtime.live.live_folder import HEAD_BYTES, LONGEST, SCHEMA, namespace, own_folder, start_of
from triton_doctor.runtime.program_event import StepEvent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.runtime.event import Event
    from triton_doctor.runtime.live.activity import Activity

# Of all that a process does at once, so much is kept.
ACTIVITIES = 8
LONGEST_NAME, LONGEST_PATH, LONGEST_COMMAND = 80, 240, 160
# Launches are written as often, while there are any.
PERIOD_S = 0.25
SIZE = LONGEST + HEAD_BYTES
# What an activity that goes on may change.
CHANGING = ("stage", "config")
# Made once: `json.dumps` makes one for each call that is not plain.
encode = json.JSONEncoder(separators=(",", ":")).encode


class LiveFile:
    """The file of this process, written when a compile, a load or a round of tuning begins, goes on or ends.

    Never raises: where it cannot be written there is none.
    """

    def __init__(self) -> None:
        self._address: int | None = None
        self._pid, self._path = 0, ""
        self._failed = False
        self._fixed = ""
        self._encoded: dict[int, tuple[Activity, str]] = {}
        self._lock = threading.Lock()
        self._is_stale = False
        self._next_s = 0.0
        self._counts = {"launches": 0, "compiled": 0, "loaded": 0, "tuned": 0, "failed": 0}
        self._launched_at_ns, self._step = 0, -1

    def open(self) -> None:
        """Create the file, after the hooks are attached."""
        activities = hooks.open_activities()
        if activities is not None:
            activities.when_changed = self.write
        hooks.call_while_launching(self.write_launches)
        self.write()

    def receive(self, event: Event) -> None:
        """Count `event`; a cheap sink."""
        match event:
            case CompileEvent():
                self._counts["compiled" if event.tier == COMPILED else "loaded"] += 1
            case AutotuneEvent():
                self._counts["tuned"] += 1
            case FailureEvent(refused=False):
                self._counts["failed"] += 1
            case StepEvent(kind="step", number=int(number)):
                self._step = number + event.count - 1

    def write_launches(self) -> None:
        """Write the launch count if it is due; called by launches from memory."""
        now_s = time.monotonic()
        if now_s < self._next_s and self._pid == os.getpid():
            return
        self._next_s = now_s + PERIOD_S
        self._counts["launches"] = sum(hooks.launches_so_far().values())
        self._launched_at_ns = time.time_ns()
        activities = hooks.open_activities()
        if activities is not None:
            activities.forget_ended()
            # An exec for which the file was removed has failed.
            activities.when_changed = self.write
        self.write()

    def write(self) -> None:
        """Write the current state, unless another thread is writing."""
        self._is_stale = True
        while self._is_stale and self._lock.acquire(blocking=False):
            try:
                self._is_stale = False
                self._write()
            except Exception:  # whatever it is, the program goes on
                self._failed = True
            finally:
                self._lock.release()

    def close(self) -> None:
        """Remove the file at exit or before exec; later activities do not create a new one."""
        activities = hooks.open_activities()
        if activities is not None:
            activities.when_changed = None
        is_own, self._address = self._pid == os.getpid() and self._address is not None, None
        self._pid = 0
        if is_own:
            with contextlib.suppress(OSError):
                os.unlink(self._path)

    def begin_in_child(self) -> None:
        """Reset the state in a forked child, which creates its own file at its first activity."""
        self._lock = threading.Lock()
        self._address, self._pid = None, 0
        self._counts = dict.fromkeys(self._counts, 0)

    def _write(self) -> None:
        if self._failed:
            return
        if self._pid != os.getpid():
            self._open()
        activities = hooks.open_activities()
        every = [] if activities is None else activities.now()
        text = self._encode(every[:ACTIVITIES], more=max(0, len(every) - ACTIVITIES))
        if len(text) > LONGEST:
            text = self._encode(every[:1], more=len(every) - 1)
        data = b"%08x %08x\n%b\n" % (zlib.crc32(text), len(text), text)
        if self._address is not None:
            ctypes.memmove(self._address, data, len(data))

    def _encode(self, activities: Sequence[Activity], *, more: int) -> bytes:
        """Return the current state as JSON, formatted by hand because it runs at each stage of each compile."""
        counts = "".join(f'"{name}":{count},' for name, count in self._counts.items())
        step = f'"step":{self._step},' if self._step >= 0 else ""
        now = f'"at_ns":{time.time_ns()},"launched_at_ns":{self._launched_at_ns},"more":{more},{step}'
        listed = ",".join(map(self._encode_activity, activities))
        return f'{self._fixed},{counts}{now}"activities":[{listed}]}}'.encode()

    def _encode_activity(self, activity: Activity) -> str:
        known = self._encoded.get(id(activity))
        if known is None or known[0] is not activity:
            if len(self._encoded) > 4 * ACTIVITIES:
                self._encoded.clear()
            fields = {name: getattr(activity, name) for name in type(activity).__slots__ if name not in CHANGING}
            fields["kernel"] = activity.kernel[:LONGEST_NAME]
            fields["path"] = activity.path[-LONGEST_PATH:]
            known = self._encoded[id(activity)] = (activity, encode(fields)[:-1])
        return f'{known[1]},"stage":{encode(activity.stage)},"config":{activity.config}}}'

    def _open(self) -> None:
        self._pid = os.getpid()
        folder = own_folder()
        start = start_of(self._pid)
        self._path = os.path.join(folder, f"{self._pid}-{start}")
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o600)
        try:
            # Pages that are there: to write where a full file system has none would end the process (mmap(2), SIGBUS).
            os.posix_fallocate(descriptor, 0, SIZE)
            self._address = map_file(descriptor)
        finally:
            os.close(descriptor)
        fixed = {
            "schema": SCHEMA,
            "pid": self._pid,
            "start": start,
            "namespace": namespace(),
            "host": socket.gethostname(),
            "rank": rank(),
            "run": os.environ.get(RUN, ""),
            "command": " ".join(getattr(sys, "orig_argv", sys.argv))[:LONGEST_COMMAND],
        }
        self._fixed = encode(fixed)[:-1]


def map_file(descriptor: int) -> int:
    """Map the file of `descriptor` permanently and return its address. Raises OSError.

    Python's `mmap` duplicates the descriptor and later closes that number, whatever it then refers to (CPython 3.11
    mmapmodule.c, new_mmap_object; `trackfd` since 3.13).
    """
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.argtypes = ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long
    library.mmap.restype = ctypes.c_void_p
    address: int = library.mmap(None, SIZE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, descriptor, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "cannot map the live file")
    return address


_open: LiveFile | None = None


def open_live_file() -> LiveFile:
    """Return the live file of this process; the first call creates it and attaches the hooks."""
    global _open
    if _open is None:
        _open = LiveFile()
        hooks.attach(_open.receive)
        _open.open()
    return _open


def _begin_in_child() -> None:
    if _open is not None:
        _open.begin_in_child()


os.register_at_fork(after_in_child=_begin_in_child)

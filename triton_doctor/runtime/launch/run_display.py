"""What `run` shows while its program runs: each compile, what takes long, and the states of its processes for `top`.

The processes write into memory of their machine alone, so that no slow disk keeps them waiting. `run` waits in their
stead: `top DIR` then shows all nodes that record into one folder.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.cause_wording import describe_recompile
from triton_doctor.runtime.causes import History
from triton_doctor.runtime.decoding import decode_line
from triton_doctor.runtime.event import COMPILED, AutotuneEvent, CompileEvent, MemoryEvent
from triton_doctor.runtime.live.state_wording import describe_long
from triton_doctor.runtime.live.states import SUFFIX, gather_states, remove_files, write_node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.launch.recording_folder import RecordingFolder

EVERY_S = 0.5


class Board:
    """The live display of one run. Copies its process states to the recording folder, if that is kept."""

    def __init__(self, folder: RecordingFolder, *, print_line: Callable[[str], None] | None) -> None:
        """Create the display of a run. `print_line` receives each line to print; None prints nothing."""
        self._run, self._recordings, self._print_line = folder.run, folder.recordings, print_line
        self._follower = Follower()
        self._path = Path(folder.path, f"{folder.run}{SUFFIX}") if folder.kept and folder.file is None else None
        self._due_s: dict[object, float] = {}
        self._next_ns = 0

    def look(self, now_ns: int) -> None:
        """Print new events, and copy the process states at intervals. `now_ns` is of the monotonic clock."""
        self._print_new()
        if now_ns < self._next_ns or (self._path is None and self._print_line is None):
            return
        self._next_ns = now_ns + int(EVERY_S * 1e9)
        states = gather_states(run=self._run)
        if self._path is not None:
            with contextlib.suppress(OSError):
                write_node(self._path, states, socket.gethostname())
        if self._print_line is not None:
            for line in describe_long(states, time.time_ns(), self._due_s):
                self._print_line(line)

    def close(self) -> None:
        """Print the last events and delete the copied states and the live files of killed processes."""
        self._print_new()
        remove_files(gather_states(run=self._run), lambda pid: os.path.exists(f"/proc/{pid}"))
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def _print_new(self) -> None:
        if self._print_line is not None:
            for line in self._follower.describe_new(self._recordings()):
                self._print_line(line)


class Follower:
    """Reads the events appended to the recordings of a run since the last call."""

    def __init__(self) -> None:
        self._read: defaultdict[str, int] = defaultdict(int)
        self._histories: defaultdict[tuple[object, ...], History] = defaultdict(History)

    def describe_new(self, paths: Iterable[str]) -> Iterator[str]:
        """Yield a line for each compile and each autotuning appended to `paths` since the last call."""
        for path in paths:
            for line in self._new_lines(path):
                try:
                    event = decode_line(line)
                except (ValueError, DoctorError):
                    continue
                if isinstance(event, MemoryEvent):
                    self._histories[path, CompileEvent, event.kernel].remember(event.as_compile())
                if isinstance(event, CompileEvent | AutotuneEvent):
                    history = self._histories[path, type(event), event.kernel]
                    yield describe_event(history.explain(event))
                    history.remember(event)

    def _new_lines(self, path: str) -> list[str]:
        try:
            with Path(path).open("rb") as recording:
                recording.seek(self._read[path])
                new = recording.read()
        except OSError:
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._read[path] += len(whole)
        return whole.decode(errors="replace").splitlines()


def describe_event(recompile: Recompile) -> str:
    """Describe a compile or autotuning: `rank 0: compiled scale in 39 ms at train.py:12: ...`."""
    event = recompile.event
    rank = "" if event.rank is None else f"rank {event.rank}: "
    site = "" if event.launch_site is None else f" at {event.launch_site.path}:{event.launch_site.line}"
    if isinstance(event, AutotuneEvent):
        took = "" if event.duration_us is None else f" in {event.duration_us / 1000:,.0f} ms"
        verb = "took from disk the tuning of" if event.cached else "tuned"
        done = f"{verb} `{event.kernel.name}`{took}, {len(event.timings_ms)} configs"
    else:
        verb = "compiled" if event.tier == COMPILED else "loaded from disk"
        took = "" if event.dry else f" in {event.duration_us / 1000:,.1f} ms"
        done = f"{verb} `{event.kernel.name}`{took}"
    return f"{rank}{done}{site}: {describe_recompile(recompile)}"

"""Records a watched process from its import of triton to its end."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError
from triton_doctor.runtime import hooks
from triton_doctor.runtime.event import InterpretedEvent
from triton_doctor.runtime.hooks.process_state import rank
from triton_doctor.runtime.launch.environment import DRY, NOTES, PARENT, RUN, TARGET
from triton_doctor.runtime.launch.process_notes import LAUNCHES, STOPPED
from triton_doctor.runtime.lines import write_line
from triton_doctor.runtime.live.file import open_live_file
from triton_doctor.runtime.watch import Session

if TYPE_CHECKING:
    from collections.abc import Callable

# So often the count of launches is written; less often where that takes more than this part of the time.
PERIOD_S, SHARE = 0.25, 0.001
CANNOT_RUN_DRY = 2
# prctl(2)
PR_SET_PDEATHSIG = 1


def join(folder: str, *, started_ns: int, cache_dir: str | None) -> None:
    """Record this process into `folder`. `started_ns` is its start by `time.perf_counter_ns`.

    `cache_dir` is TRITON_CACHE_DIR at that time.
    """
    if os.environ.get(PARENT) == str(os.getppid()):
        end_with_parent()
    target = os.environ.get(TARGET)
    dry = os.environ.get(DRY)
    if dry:
        go_dry(target, dry)
    elif target:
        from triton_doctor.runtime.compile_target import activate

        activate(target)
    notes = os.environ.get(NOTES, "")
    session = Session(
        free_path(Path(folder), os.environ.get(RUN, "")),
        started_ns=started_ns,
        when_lost=lambda reason: write_note(f"{os.getpid()}{STOPPED}", notes, reason),
    )
    hooks.attach(session.receive)
    hooks.watch_cache_folder(cache_dir)
    session.count_from(hooks.launches_so_far())
    note = LaunchesNote(session, notes)
    hooks.call_while_launching(note.write)
    live = open_live_file()

    def finish() -> None:
        if dry:
            from triton_doctor.runtime.dry.triton_stub import report_kernels_kept_back

            report_kernels_kept_back()
        live.close()
        hooks.detach(live.receive)
        end(session)

    def become_another() -> None:
        live.close()
        note.write_into_recording()

    atexit.register(finish)
    before_leaving("_exit", finish)
    # An exec can fail, and the program go on.
    before_leaving("execv", become_another)
    before_leaving("execve", become_another)


def go_dry(target: str | None, dry: str) -> None:
    """Run this process dry until it ends. If that fails, print why and exit: nothing may run for real."""
    from triton_doctor.runtime.dry.dry_process import begin_dry

    unknown, world_size, which = dry.split(",")
    try:
        begin_dry(target=target, unknown=unknown, world_size=int(world_size), rank=int(which))
    except DoctorError as error:
        sys.stderr.write(f"triton-doctor: {error.message}\nhint: {error.hint}\n")
        sys.stderr.flush()
        os._exit(CANNOT_RUN_DRY)


def end(session: Session) -> None:
    """Write the remaining data."""
    for kernel, (count, took_ns) in hooks.interpreted_so_far().items():
        event = InterpretedEvent(kernel=kernel, count=count, took_us=took_ns // 1000, at_ns=time.time_ns())
        session.receive(event)
    session.close()
    hooks.detach(session.receive)
    session.finish()


class LaunchesNote:
    """The count of launches of a session, written again and again: a signal may end the process without a word."""

    def __init__(self, session: Session, notes: str) -> None:
        self._session, self._notes = session, notes
        self._process, self._next_s = 0, 0.0

    def write(self) -> None:
        """Write the count if it is due; the first launch of a process is written at once."""
        now_s = time.monotonic()
        if now_s < self._next_s and self._process == os.getpid():
            return
        recording = self._session.require_file()
        if recording is not None:
            write_note(recording.stem + LAUNCHES, self._notes, write_line(self._session.count_launches()))
        done_s = time.monotonic()
        self._process, self._next_s = os.getpid(), done_s + max(PERIOD_S, (done_s - now_s) / SHARE)

    def write_into_recording(self) -> None:
        """Write the count into the recording, before exec starts another program here."""
        self._session.checkpoint()
        recording = self._session.require_file()
        if recording is not None:
            self._next_s = 0.0
            Path(self._notes, recording.stem + LAUNCHES).unlink(missing_ok=True)


def write_note(name: str, notes: str, text: str) -> None:
    """Replace the note `name` in the folder `notes`; ignores a missing folder."""
    path = os.path.join(notes, name)
    fresh = f"{path}.{os.getpid()}"
    with contextlib.suppress(OSError):
        # There is a note even where no byte can be written.
        with contextlib.suppress(OSError), open(fresh, "w", encoding="utf-8") as note:
            note.write(text)
        os.replace(fresh, path)


def free_path(folder: Path, run: str) -> Path:
    """Return an unused recording path for this process, from the run name, the rank and the process id.

    A program started by exec in the same process gets a second file.
    """
    place = rank()
    stem = ".".join([*filter(None, [run, None if place is None else f"rank{place}"]), str(os.getpid())])
    path, number = folder / f"{stem}.jsonl", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}.jsonl"
    return path


def before_leaving(name: str, act: Callable[[], None]) -> None:
    """Wrap `os._exit` or an `os.exec...` function, named `name`, so that it calls `act` first.

    These functions run no exit handlers.
    """
    leave: Callable[..., Any] = getattr(os, name)

    def leaving(*args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(Exception):
            act()
        return leave(*args, **kwargs)

    leaving.__name__, leaving.__doc__ = leave.__name__, leave.__doc__
    setattr(os, name, leaving)


def end_with_parent() -> None:
    """Kill this process when its parent dies, even by SIGKILL. Linux only; does nothing elsewhere."""
    with contextlib.suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

"""`with record() as recording:`: what happens to kernels inside, in memory and, if asked, in a file as it happens."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.event import CompileEvent, EndEvent, Event, Header, LaunchesEvent, MemoryEvent
from triton_doctor.runtime.event_log import EventLog
from triton_doctor.runtime.hooks.graphs import GraphReader
from triton_doctor.runtime.kept_file import KeptFile
from triton_doctor.runtime.lines import write_line
from triton_doctor.runtime.recording import Recording
from triton_doctor.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triton_doctor.runtime.event import KernelName

# The variables that enter Triton's key, or change what it does.
_MATTERING_PREFIXES = ("TRITON_", "TORCHINDUCTOR_", "MLIR_", "LLVM_", "AMDGCN_", "NVPTX_", "PTXAS_")
_MATTERING = frozenset(
    "ALLOW_LHS_TMEM_LAYOUT_CONVERSION DISABLE_FAST_REDUCTION DISABLE_LLVM_OPT DISABLE_MMA_V3 DISABLE_MMA_V5 "
    "DISABLE_PTXAS_OPT ENABLE_LHS_TO_TMEM ENABLE_PINGPONG USE_IR_LOC USE_TTGIR_LOC CUDA_VISIBLE_DEVICES "
    "HIP_VISIBLE_DEVICES".split()
)
# Variables that Triton does not read: that they were set is recorded, and no value.
_WITHOUT_VALUE = ("TORCHINDUCTOR_", "CUDA_VISIBLE_", "HIP_VISIBLE_")
# Launches cost no line each; so often, when something else is written, the file learns how many there were.
CHECKPOINT_S = 1.0


@contextlib.contextmanager
def record(
    path: str | Path | None = None, *, count_launches: bool = True, target: str | None = None
) -> Iterator[Recording]:
    """Record compiles, loads and autotuning inside this context; the Recording grows while it runs.

    `path` is a file written as events happen, so that it survives a killed program. `target`, such as `cuda:90`,
    compiles without a GPU and without running. Contexts nest, and cover all threads. Raises DoctorError if Triton
    is missing or `path` cannot be written.
    """
    from triton_doctor.runtime import hooks
    from triton_doctor.runtime.compile_target import activate

    hooks.require_triton()
    undo = None if target is None else activate(target)
    try:
        if path is not None:
            make_folder(Path(path))
        session = Session(None if path is None else Path(path))
        hooks.attach(session.receive, count_launches=count_launches)
        session.count_from(hooks.launches_so_far() if count_launches else None)
        try:
            yield session.recording
        finally:
            session.close()
            hooks.detach(session.receive)
            session.finish()
    finally:
        if undo is not None:
            undo()


class Session:
    """One active recording, which stores events in memory and writes them to a file."""

    def __init__(
        self, path: Path | None, *, started_ns: int | None = None, when_lost: Callable[[str], None] | None = None
    ) -> None:
        """Start a recording. `started_ns` is its start by `time.perf_counter_ns`; None is now.

        `when_lost` is called with the reason if the file cannot be written any more. The folder of `path` must
        exist.
        """
        self._when_lost = when_lost
        self._started_ns = time.perf_counter_ns() if started_ns is None else started_ns
        self.recording = Recording(headers=[make_header(self._started_ns)], events=EventLog())
        self._path = path
        self._seen: set[tuple[KernelName, int]] = set()
        self._before: dict[KernelName, int] | None = None
        self._last_count: LaunchesEvent | None = None
        self._checkpoint_at = time.monotonic() + CHECKPOINT_S
        # A signal handler that ends the process may interrupt its own thread while that writes.
        self._lock = threading.RLock()
        self._file: KeptFile | None = None
        if path is not None:
            self._open(path)
        self._graphs = GraphReader()
        _open_sessions.add(self)

    def count_from(self, before: dict[KernelName, int] | None) -> None:
        """Count only launches beyond `before`; None if launches are not counted."""
        self._before = before
        if before is not None:
            self.recording.live = self.count_launches

    def receive(self, event: Event) -> None:
        """Store `event`. Raises once if the file cannot be written any more; then only memory is used."""
        kept = self._read_memory(event) if isinstance(event, CompileEvent) else ()
        self.recording.before += kept
        self.recording.events.append(event)
        if self._path is None:
            return
        try:
            with self._lock:
                for earlier in kept:
                    self._write(MemoryEvent.of(earlier))
                self._write(event)
                if self._before is not None and time.monotonic() >= self._checkpoint_at:
                    self._checkpoint_at = time.monotonic() + CHECKPOINT_S
                    self._write(self.count_launches())
        except (OSError, DoctorError) as error:
            self._give_up(error)
            raise

    def _read_memory(self, event: CompileEvent) -> tuple[CompileEvent, ...]:
        """Return what the kernel object of `event` has in memory, if this is its first compile here."""
        from triton_doctor.runtime import hooks

        if (event.kernel, event.made) in self._seen:
            return ()
        self._seen.add((event.kernel, event.made))
        return hooks.compiled_before(event)

    def require_file(self) -> Path | None:
        """Create the file if it is empty, and return its path; None if it cannot be written or is not wanted."""
        if self._file is None and self._path is not None:
            try:
                with self._lock:
                    self._open(self._path)
            except (OSError, DoctorError) as error:
                self._give_up(error)
        return self._path

    def _give_up(self, error: Exception) -> None:
        self._path = None
        self._close_file()
        if self._when_lost is not None:
            self._when_lost(error.message if isinstance(error, DoctorError) else str(error))

    def checkpoint(self) -> None:
        """Write the launch count so far, since the process may be killed."""
        self._receive_graphs()
        if self._path is not None and self._before is not None:
            launches = self.count_launches()
            if launches.launches:
                with contextlib.suppress(OSError, DoctorError), self._lock:
                    self._write(launches)

    def _receive_graphs(self) -> None:
        for event in self._graphs.read():
            with contextlib.suppress(OSError, DoctorError):
                self.receive(event)

    def close(self) -> None:
        """Count launches a last time, while the counters are active."""
        self._receive_graphs()
        if self._before is not None:
            self._last_count = self.count_launches()
            self.recording.live = None

    def finish(self) -> None:
        """Write the end event. A forked child without events writes no file."""
        _open_sessions.discard(self)
        wall_us = (time.perf_counter_ns() - self._started_ns) // 1000
        last: list[Event] = [] if self._last_count is None else [self._last_count]
        last.append(EndEvent(wall_us=wall_us, at_ns=time.time_ns()))
        nothing = not self.recording.events and (self._last_count is None or not self._last_count.launches)
        self.recording.events.extend(last)
        if self._path is not None and not (self._file is None and nothing):
            try:
                with self._lock:
                    for event in last:
                        self._write(event)
            except (OSError, DoctorError) as error:
                self._give_up(error)
        self._close_file()

    def begin_in_child(self) -> None:
        """Start a separate recording in a forked child, with a file of its own beside the parent's."""
        from triton_doctor.runtime import hooks

        self._started_ns = time.perf_counter_ns()
        self._lock = threading.RLock()
        self.recording.headers[:] = [make_header(self._started_ns)]
        self.recording.events.clear()
        self.recording.before.clear()
        self._seen.clear()
        self._close_file()
        self._graphs = GraphReader()
        if self._before is not None:
            self._before = hooks.launches_so_far()
        if self._path is not None:
            self._path = self._path.with_name(f"{self._path.stem}.{os.getpid()}{self._path.suffix}")

    def count_launches(self) -> LaunchesEvent:
        """Return the launch counts so far."""
        from triton_doctor.runtime import hooks

        before = self._before or {}
        now = hooks.launches_so_far().items()
        counts = ((kernel, count - before.get(kernel, 0)) for kernel, count in now)
        return LaunchesEvent(launches=tuple(sorted(pair for pair in counts if pair[1])), at_ns=time.time_ns())

    def _open(self, path: Path) -> None:
        try:
            self._file = KeptFile(path)
            # A forked child, whose file lies beside it, may be in another folder by then.
            self._path = self._file.path
            self._write(self.recording.headers[0])
        except OSError as error:
            raise DoctorError(
                f"cannot write {path}: {error.strerror}", hint="name a file in a folder of yours"
            ) from error

    def _write(self, value: Header | Event) -> None:
        if self._file is None and self._path is not None:
            self._open(self._path)
        if self._file is not None:
            # Handed to the system with each line, so that kill -9 loses none.
            self._file.write(f"{write_line(value)}\n".encode())

    def _close_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


_open_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


def _begin_in_child() -> None:
    for session in list(_open_sessions):
        session.begin_in_child()


os.register_at_fork(after_in_child=_begin_in_child)


def make_folder(path: Path) -> None:
    """Create the folder of the file `path`. Raises DoctorError if that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DoctorError(f"cannot write {path}: {error.strerror}", hint="name a file in a folder of yours") from error


def make_header(started_ns: int | None = None) -> Header:
    """Return the header for this process; `started_ns` is its start by `time.perf_counter_ns`, None is now."""
    from triton_doctor.runtime.compile_target import active_target
    from triton_doctor.runtime.hooks.process_state import rank

    target = active_target()
    pretended = _pretended()
    return Header(
        tool_version=__version__,
        versions=tuple(_versions()),
        target=target,
        compile_only=target is not None,
        command=tuple(getattr(sys, "orig_argv", sys.argv)),
        variables=tuple(_variables()),
        rank=rank(),
        world_size=int(os.environ["WORLD_SIZE"]) if os.environ.get("WORLD_SIZE", "").isdecimal() else None,
        pid=os.getpid(),
        started_at_ns=time.time_ns() - (0 if started_ns is None else time.perf_counter_ns() - started_ns),
        dry=bool(pretended),
        pretended=pretended,
    )


def _pretended() -> tuple[tuple[str, str], ...]:
    """Return what a dry run simulates in this process; empty outside a dry run."""
    session = sys.modules.get("triton_doctor.runtime.dry.dry_process")
    gpu = None if session is None else session.active_gpu()
    return () if gpu is None else gpu.describe()


def _variables() -> Iterator[tuple[str, str]]:
    chosen = sorted(name for name in os.environ if _matters(name))
    if chosen:
        from triton_doctor.masking import MASK, mask_variable
    for name in chosen:
        yield name, MASK if name.startswith(_WITHOUT_VALUE) else mask_variable(name, os.environ[name])


def _versions() -> Iterator[tuple[str, str]]:
    yield "python", ".".join(map(str, sys.version_info[:3]))
    for name in ("torch", "triton"):
        # Only what is imported: a header costs nobody an import.
        if name in sys.modules:
            yield name, str(getattr(sys.modules[name], "__version__", "unknown"))


def _matters(name: str) -> bool:
    return name.startswith(_MATTERING_PREFIXES) or name in _MATTERING

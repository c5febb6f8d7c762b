"""One process that has imported torch and triton, and nothing of a project: it forks a confined child for each job.

    python -P -m triton_doctor.explore.fork_server [MEANS...]

It reads `Job`s from stdin, a line of JSON each, and writes a `Reply` for each that ends to stdout. Three processes:

    server ─fork─► supervisor ─fork─► child, inside of the sandbox: imports the project, calls the function of its job
                   └ ends the child and its descendants when they end, take too long or use too much

Nothing that the child does reaches the supervisor or the server; what it found is a file in its scratch folder. The
server ends with its stdin, and everything below it with the server.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import msgspec

from triton_doctor.explore.child import answer
from triton_doctor.explore.model import Limits
from triton_doctor.explore.sandbox import (
    ALL_MEANS,
    Means,
    Walls,
    confine,
    end_with_parent,
    limit_resources,
    probe_walls,
    separate,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

POLL_S, MEASURE_S = 0.05, 0.25
# All files of the scratch folder together, as multiples of one file's limit, and their number.
SCRATCH_FILES, SCRATCH_SIZES = 50_000, 4
# Files of the project that are linked one by one in the working folder; then folders are, which stay read-only.
MOST_LINKS = 5_000
NICE = 5
# The status of a child that came to no call.
FAILED = 119
GROUND = ("torch", "triton", "triton_doctor.runtime.dry")

Ended = Literal["returned", "died", "over a limit"]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A function (`module:name`) to call with `argument` in a child that writes to the folder `scratch` alone.

    It works in a folder there that has links to the files of the project's copy, `root`.

    `argument` is JSON, of the class `argument_type` (`module:name`) if that is not empty. `memory` is in bytes, for the
    child and its descendants together.
    """

    number: int
    function: str
    argument: msgspec.Raw
    argument_type: str = ""
    root: str
    import_roots: tuple[str, ...] = ("",)
    scratch: str
    memory: int
    limits: Limits = Limits()


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """How the child of a job ended, with a `reason` unless it returned."""

    number: int
    ended: Ended
    reason: str = ""
    cpu_s: float = 0.0


class Greeting(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a server: how its children will be confined.

    The second line is empty, and says that the server has imported what it needs.
    """

    walls: Walls


def serve(means: tuple[Means, ...], scratch: str, preload: tuple[str, ...]) -> None:
    """Serve jobs from stdin until it ends."""
    requests, replies = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    walls = probe_walls(scratch, means) if means else Walls()
    _write_line(replies, Greeting(walls=walls))
    _import_ground(preload)
    _write(replies, b"\n")
    supervisors: dict[int, tuple[int, bytearray]] = {}
    unread = bytearray()
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    while True:
        for descriptor, _ in poll.poll():
            data = os.read(descriptor, 1 << 16)
            if descriptor == requests:
                if not data:
                    _end_supervisors([process for process, _ in supervisors.values()])
                    # Whoever started this may have been killed, and remove nothing.
                    shutil.rmtree(scratch, ignore_errors=True)
                    return
                unread += data
                *lines, rest = bytes(unread).split(b"\n")
                unread = bytearray(rest)
                for line in lines:
                    process, report = _start_supervisor(msgspec.json.decode(line, type=Job), walls)
                    supervisors[report] = process, bytearray()
                    poll.register(report, select.POLLIN)
                continue
            process, text = supervisors[descriptor]
            text += data
            if not data:
                poll.unregister(descriptor)
                os.close(descriptor)
                del supervisors[descriptor]
                os.waitpid(process, 0)
                _write(replies, bytes(text))


def _import_ground(preload: tuple[str, ...]) -> None:
    for name in (*GROUND, *preload):
        importlib.import_module(name)
    import torch

    # The first dry run imports much, and tests that dry runs work: each child would do it.
    if torch.version.cuda is None and torch.version.hip is None:
        from triton_doctor.runtime.dry import dry_run

        with dry_run():
            pass
    else:
        # A driver that was asked in this process fails in each of its forks: only a process of its own may ask.
        from triton_doctor.runtime.dry.selftest import require_working_elsewhere

        require_working_elsewhere()
    gc.collect()
    gc.freeze()


def _end_supervisors(processes: list[int]) -> None:
    for process in processes:
        os.kill(process, signal.SIGTERM)
    for process in processes:
        os.waitpid(process, 0)


def _start_supervisor(job: Job, walls: Walls) -> tuple[int, int]:
    """Fork the supervisor of `job`; return its number and where it will report."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    try:
        server = os.getppid()
        end_with_parent()
        if os.getppid() != server:
            os._exit(1)
        os.setsid()
        _write_line(writing, _Supervisor(job, walls).run())
    finally:
        os._exit(0)


class _StoppedError(BaseException):
    """The sweep is stopped."""


class _Supervisor:
    """Starts the child of one job, watches it, and ends it with all of its descendants."""

    def __init__(self, job: Job, walls: Walls) -> None:
        self._job = job
        self._walls = walls
        self._child = 0

    def run(self) -> Reply:
        """Return how the child ended."""
        began = time.monotonic()
        signal.signal(signal.SIGTERM, self._stop)
        over, status = "", 0
        try:
            try:
                separate(self._walls)
                over = self._watch(self._start(), began)
            except _StoppedError:
                over = "the sweep was stopped"
            except OSError as error:
                return self._reply("died", f"the sandbox cannot be entered: {error}")
        finally:
            # Whatever comes: nothing of the child is left behind.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            status = self._end()
        if over:
            return self._reply("over a limit", over)
        if status == 0:
            return self._reply("returned", "")
        return self._reply("died", _describe_end(status))

    def _stop(self, *_: object) -> None:
        raise _StoppedError

    def _start(self) -> int:
        """Start the child; return a pipe that can be read when it ends."""
        ending, waking = os.pipe()
        for descriptor in (ending, waking):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        self._child = os.fork()
        if not self._child:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            _run_child(self._job, self._walls)
        return ending

    def _watch(self, ending: int, began: float) -> str:
        """Wait for the end of the child. Returns which limit it went over, or an empty text."""
        limits = self._job.limits
        poll = select.poll()
        poll.register(ending, select.POLLIN)
        measured = began
        while True:
            if poll.poll(POLL_S * 1000):
                os.read(ending, 1 << 10)
                if os.waitid(os.P_PID, self._child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                    return ""
            now = time.monotonic()
            if now - began > limits.wall_s:
                return f"it took longer than {limits.wall_s:g} s"
            # Starting processes is the fastest of the ways to harm a machine: they are counted at each turn.
            descendants = list(islice(_descendants(self._root), limits.processes + 1))
            if len(descendants) > limits.processes:
                return f"it started more than {limits.processes} processes"
            if now - measured > MEASURE_S:
                measured = now
                if sum(map(_own_memory, descendants)) > self._job.memory + _own_memory(os.getpid()) * len(descendants):
                    return f"it used more than {self._job.memory >> 20:,} MiB of memory"
                if _is_larger(self._job.scratch, SCRATCH_SIZES * limits.file_size):
                    return f"it wrote more than {SCRATCH_SIZES * limits.file_size >> 20:,} MiB of files"

    @property
    def _root(self) -> int:
        """Return the process that inherits the child's descendants: the first of their namespace, else this one."""
        return self._child if self._walls.namespaces else os.getpid()

    def _end(self) -> int:
        """End the child and all of its descendants; return the status of the child."""
        if not self._child:
            return 0
        if not self._walls.namespaces:
            # Stopped first: what goes on starting others meanwhile is never all seen.
            for signal_ in (signal.SIGSTOP, signal.SIGKILL):
                while _signal_all(list(_descendants(os.getpid())), signal_):
                    time.sleep(0.001)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)
        _, status = os.waitpid(self._child, 0)
        with contextlib.suppress(ChildProcessError):
            while True:
                for process in _descendants(os.getpid()):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
                os.waitpid(-1, 0)
        return status

    def _reply(self, ended: Ended, reason: str) -> Reply:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Reply(
            number=self._job.number,
            ended=ended,
            reason=reason,
            cpu_s=used.ru_utime + used.ru_stime,
        )


def _run_child(job: Job, walls: Walls) -> NoReturn:
    """Call the function of `job` in the sandbox; what it returns or raises is the answer. Ends this process."""
    status = FAILED
    try:
        _enter_sandbox(job, walls)
        status = 0
        cls = _load(job.argument_type) if job.argument_type else Any
        argument = msgspec.json.decode(job.argument, type=cls)
        answer.keep(_load(job.function)(argument), is_final=True)
    except BaseException as error:
        if not status:
            answer.keep_error(error)
    finally:
        os._exit(status)


def _load(name: str) -> Any:
    module, _, name = name.partition(":")
    return getattr(importlib.import_module(module), name)


def _enter_sandbox(job: Job, walls: Walls) -> None:
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.umask(0o077)
    os.environ.update(_environment(job.scratch))
    # The server has looked for its own before.
    tempfile.tempdir = None
    # The supervisor is to be heard above whatever the child starts.
    os.nice(NICE)
    limit_resources(job.limits, job.memory, walls.namespaces)
    confine(walls, job.scratch)
    _make_working_folder(job.root, f"{job.scratch}/work")
    os.chdir(f"{job.scratch}/work")
    sys.path[:0] = [os.path.normpath(f"{job.root}/{folder}") for folder in job.import_roots]
    sys.argv[:] = [""]
    answer.open_answers(job.scratch, job.root)


def _make_working_folder(root: str, folder: str) -> None:
    """Make a folder with links to the files of the project in `root`, in which further files can be written."""
    linked = 0
    for place, folders, names in os.walk(root):
        own = f"{folder}{place[len(root) :]}"
        os.mkdir(own)
        if linked > MOST_LINKS:
            names, folders[:] = [*names, *folders], []
        linked += len(names)
        for name in names:
            os.symlink(f"{place}/{name}", f"{own}/{name}")


def _environment(scratch: str) -> dict[str, str]:
    """Return where a child finds its home, its temporary folder and its caches."""
    folders = {
        "HOME": "home", "TMPDIR": "tmp", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config",
        "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run",
        "TRITON_HOME": "home", "TRITON_CACHE_DIR": "triton", "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "TORCH_HOME": "torch", "HF_HOME": "hf",
    }  # fmt: skip
    for folder in set(folders.values()):
        os.makedirs(f"{scratch}/{folder}", exist_ok=True)
    return {name: f"{scratch}/{folder}" for name, folder in folders.items()}


def _describe_end(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code == FAILED:
        return "the sandbox could not be entered"
    if code >= 0:
        return f"it ended itself with status {code}"
    with contextlib.suppress(ValueError):
        return f"it was ended by {signal.Signals(-code).name}"
    return f"it was ended by signal {-code}"


def _descendants(process: int) -> Iterator[int]:
    """Yield the processes below `process`, as it is seen from here; and that itself, unless it is this one."""
    waiting = [process]
    while waiting:
        current = waiting.pop()
        if current != os.getpid():
            yield current
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{current}/task"):
                with contextlib.suppress(OSError), open(f"/proc/{current}/task/{task}/children") as file:
                    waiting += map(int, file.read().split())


def _signal_all(processes: list[int], signal_: int) -> bool:
    """Send a signal to each of `processes`; return whether one of them was still to be stopped or ended."""
    was_running = False
    for process in processes:
        state = _state_of(process)
        if state not in ("Z", "X", "T" if signal_ == signal.SIGSTOP else "Z"):
            was_running = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal_)
    return was_running


def _state_of(process: int) -> str:
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def _own_memory(process: int) -> int:
    """Return the bytes that `process` shares with no file."""
    try:
        with open(f"/proc/{process}/statm") as file:
            _, resident, shared, *_ = map(int, file.read().split())
    except OSError:
        return 0
    return (resident - shared) * resource.getpagesize()


def _is_larger(folder: str, size: int) -> bool:
    count = total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            count += 1
            with contextlib.suppress(OSError):
                total += os.lstat(f"{place}/{name}").st_blocks * 512
            if total > size or count > SCRATCH_FILES:
                return True
    return False


def _write_line(descriptor: int, value: object) -> None:
    _write(descriptor, msgspec.json.encode(value) + b"\n")


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    scratch_, preload_, *means_ = sys.argv[1:]
    serve(
        tuple(means for means in ALL_MEANS if means in means_),
        scratch_,
        tuple(filter(None, preload_.split(","))),
    )

"""The fork server as its parent sees it: a function is called in a confined child, and its answer comes back.

    with ForkServer() as server:
        result = server.call("package.module:function", {"size": 3}, root=copy)

Calls may come from several threads. A server that dies is started again, and what it was doing is tried once more.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from triton_doctor.errors import DoctorError
from triton_doctor.explore.child.answer import NAME, Answer
from triton_doctor.explore.fork_server import Greeting, Job, Reply
from triton_doctor.explore.model import Limits
from triton_doctor.explore.sandbox import ALL_MEANS, Walls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triton_doctor.explore.sandbox import Means

PREFIX = "triton-doctor-sweep-"
LARGEST_ANSWER = 64 << 20
LEAST_MEMORY = 2 << 30
# What a child may know of the environment: where programs and packages are, the language, and how torch and Triton
# behave. Keys and tokens of other names do not reach it.
KEPT_VARIABLES = (
    *("PATH", "HOME", "LANG", "LC_ALL", "TZ", "PYTHONPATH", "PYTHONUSERBASE", "VIRTUAL_ENV", "CONDA_PREFIX"),
    *("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH"),
)
KEPT_PREFIXES = ("TRITON_", "TORCH_", "TORCHINDUCTOR_", "TRITONDOCTOR_")
SECRET_WORDS = ("TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "_KEY")
# Children pretend a GPU, and must not find the one that is there: not each has a sandbox to hide it.
SET_VARIABLES = {
    "CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "",
    "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}  # fmt: skip


class ChildResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a call: how its child ended, and what it answered, if it did."""

    reply: Reply
    answer: Answer | None = None

    @property
    def problem(self) -> str:
        """Return why there is no final answer; empty where there is."""
        if self.answer is not None and self.answer.is_final:
            return ""
        return (self.answer.error if self.answer is not None else "") or self.reply.reason or "it gave no answer"


class ForkServer:
    """A process that forks a confined child for each call. `walls` says how they are confined."""

    def __init__(self, *, means: tuple[Means, ...] = ALL_MEANS, preload: tuple[str, ...] = (), jobs: int = 1) -> None:
        """Plan for `jobs` calls at a time, which share the memory; without `means` there is no sandbox."""
        self.walls = Walls()
        self.jobs = jobs
        self._means, self._preload = means, preload
        self._folder = ""
        self._is_closed = False
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._number = 0
        self._waiting: dict[int, Future[Reply | None]] = {}

    def __enter__(self) -> Self:
        """Start the server. Raises DoctorError where children cannot be confined, or torch and triton are missing."""
        self._folder = os.path.realpath(tempfile.mkdtemp(prefix=PREFIX))
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End the server, every child, and their folders."""
        with self._lock:
            process, self._process, self._is_closed = self._process, None, True
        if process is not None:
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.close()
            process.wait()
        remove_folder(self._folder)

    def call(
        self, function: str, argument: object, *, root: str, import_roots: tuple[str, ...] = ("",),
        limits: Limits | None = None,
    ) -> ChildResult:  # fmt: skip
        """Call `function` (`module:name`) with `argument`, which JSON can hold, in a child, and wait for its end."""
        limits, cls = limits or Limits(), type(argument)
        for _ in range(2):
            with self._lock:
                self._number += 1
                number = self._number
            scratch = f"{self._folder}/{number}"
            Path(scratch).mkdir(mode=0o700)
            job = Job(
                number=number,
                function=function,
                argument=msgspec.Raw(msgspec.json.encode(argument)),
                argument_type=f"{cls.__module__}:{cls.__name__}" if isinstance(argument, msgspec.Struct) else "",
                root=root,
                import_roots=import_roots,
                scratch=scratch,
                memory=_memory_of_each(limits.memory, self.jobs),
                limits=limits,
            )
            try:
                reply = self._send(job).result()
                if reply is not None:
                    return ChildResult(reply=reply, answer=_read_answer(f"{scratch}/{NAME}"))
            finally:
                remove_folder(scratch)
        return ChildResult(reply=Reply(number=number, ended="died", reason="the server of the sweep was ended"))

    def _send(self, job: Job) -> Future[Reply | None]:
        future: Future[Reply | None] = Future()
        with self._lock:
            if self._is_closed:
                future.set_result(None)
                return future
            if self._process is None:
                self._start()
            process = self._process
            assert process is not None
            assert process.stdin is not None
            self._waiting[job.number] = future
            try:
                process.stdin.write(msgspec.json.encode(job) + b"\n")
                process.stdin.flush()
            except OSError:
                self._waiting.pop(job.number, None)
                future.set_result(None)
        return future

    def _start(self) -> None:
        errors = Path(self._folder, "errors")
        with errors.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "triton_doctor.explore.fork_server", self._folder,
                 ",".join(self._preload), *self._means],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, cwd=self._folder,
                env=make_environment(os.environ), start_new_session=True,
            )  # fmt: skip
        assert process.stdout is not None
        greeting, is_ready = process.stdout.readline(), b""
        if greeting:
            self.walls = msgspec.json.decode(greeting, type=Greeting).walls
            if self._means and not self.walls.are_there:
                process.kill()
                process.wait()
                raise DoctorError(
                    "the code cannot be confined here: the kernel offers neither user namespaces nor Landlock",
                    hint="sweep in a container or on a newer Linux; --no-sandbox runs the code with your rights",
                )
            is_ready = process.stdout.readline()
        if not is_ready:
            process.wait()
            *_, last = errors.read_text(errors="replace").split("\n")[-2:-1] or ["it wrote nothing"]
            raise DoctorError(
                f"the server of the sweep ended as it started: {last}", hint="a sweep needs torch and triton"
            )
        self._process = process
        threading.Thread(target=self._listen, args=(process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with contextlib.suppress(msgspec.DecodeError):
                reply = msgspec.json.decode(line, type=Reply)
                future = self._waiting.pop(reply.number, None)
                if future is not None:
                    future.set_result(reply)
        with self._lock:
            if self._process is process:
                self._process = None
            lost = list(self._waiting.values())
            self._waiting.clear()
        for future in lost:
            future.set_result(None)


def make_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what of `environment` the server and its children get."""
    kept = {
        name: value
        for name, value in environment.items()
        if name in KEPT_VARIABLES or (name.startswith(KEPT_PREFIXES) and not any(word in name for word in SECRET_WORDS))
    }
    if path := kept.get("PYTHONPATH"):
        kept["PYTHONPATH"] = os.pathsep.join(os.path.abspath(part) for part in path.split(os.pathsep) if part)
    return kept | SET_VARIABLES


def remove_folder(folder: str) -> None:
    """Remove `folder` and what is in it, whatever its modes and its depth."""
    # It goes down by recursion.
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(folder):
        # Both follow no links below the folder, and go as deep as folders do.
        for command in (["chmod", "-R", "u+rwX", "--", folder], ["rm", "-rf", "--", folder]):
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def _memory_of_each(most: int, jobs: int) -> int:
    """Return how many bytes each of so many children may use, of what is free now."""
    try:
        text = Path("/proc/meminfo").read_text()
        free = int(text.partition("MemAvailable:")[2].split()[0]) << 10
    except (OSError, ValueError, IndexError):
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(LEAST_MEMORY, min(most, free // jobs))


def _read_answer(path: str) -> Answer | None:
    """Read what a child wrote, which may be anything: a link, a pipe, no JSON."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = file.read(LARGEST_ANSWER + 1)
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        return msgspec.json.decode(data, type=Answer) if len(data) <= LARGEST_ANSWER else None
    return None

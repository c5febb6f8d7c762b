"""The stacks of a process that was never watched, read from outside by py-spy, to what its threads do in Triton.

Reading changes nothing in the process and does not stop it. What a frame has in its locals is known where it is a
plain value: the name of the kernel that is compiled, and the stage.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError
from triton_doctor.regular_files import read_regular_file
from triton_doctor.runtime.live.activity import BUILDING, COMPILING, LOADING, TUNING

if TYPE_CHECKING:
    from collections.abc import Iterable

INSTALL = "pip install py-spy"
READ_S = 30.0
# Of py-spy 0.4: what it says where the system does not let it look.
DENIED = "ermission"
# And where the process, which is not stopped, changed a stack while it was read: the next look may find it whole.
MOVING, TRIES, BETWEEN_S = "Failed to get stack trace", 20, 0.05
# A frame by the end of its file and the last part of its name, and what a thread is at that is in it. In every version
# of Triton from 3.2 (compiler/compiler.py, runtime/build.py, runtime/autotuner.py).
PLACES = {
    ("triton/compiler/compiler.py", "compile"): COMPILING,
    ("triton/compiler/compiler.py", "_init_handles"): LOADING,
    ("triton/runtime/build.py", "_build"): BUILDING,
    ("triton/runtime/build.py", "compile_module_from_src"): BUILDING,
    ("triton/runtime/autotuner.py", "_bench"): TUNING,
}
# Where torch has its collectives (torch 2.13), and what else is there: groups, and messages between two ranks.
COLLECTIVES = "torch/distributed/distributed_c10d.py"
STREAMS = ("torch/cuda/__init__.py", "torch/cuda/streams.py")
NO_COLLECTIVE = re.compile(r"group|^i?(send|recv)(_object_list)?$|^batch_|^<")
# Where packages are installed, and the standard library.
LIBRARIES = re.compile(r"-packages/(triton|torch|triton_doctor)/|/lib/python3\.\d+t?/(?!(site|dist)-packages/)|^<")
OURS = str(Path(__file__).parents[2]) + os.sep
LONGEST_LINE = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class StackFrame:
    """One frame. `values` are its locals as text, strings with their quotes."""

    function: str
    path: str
    line: int
    values: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadStack:
    """One thread, its innermost frame first."""

    thread: int
    name: str
    frames: tuple[StackFrame, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadActivity:
    """What a thread does in Triton. `kernel` and `stage` are empty where the stack does not show them.

    `path` and `line` are where the program launched, and `source` is the text there, where it can be read.
    """

    thread: int
    name: str
    what: str
    kernel: str
    stage: str
    path: str
    line: int
    source: str


def read_stacks(pid: int) -> tuple[ThreadStack, ...]:
    """Read the stacks of all threads of process `pid` by py-spy. Raises DoctorError if that fails."""
    # Beside the Python that runs us, where pip puts it, and nothing else of that name before it.
    beside = os.path.join(os.path.dirname(sys.executable), "py-spy")
    program = beside if os.path.exists(beside) else shutil.which("py-spy")
    if program is None:
        raise DoctorError("`top PID` reads stacks by py-spy, which is not installed", hint=INSTALL)
    command = [program, "dump", "--pid", str(pid), "--json", "--locals", "--nonblocking"]
    output = ""
    for _ in range(TRIES):
        try:
            done = subprocess.run(command, capture_output=True, timeout=READ_S, check=False)
            if done.returncode == 0:
                return tuple(map(_read_thread, json.loads(done.stdout)))
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise DoctorError(f"the stacks of process {pid} cannot be read: {error}", hint=INSTALL) from error
        output = done.stderr.decode(errors="replace")
        if MOVING not in output:
            break
        time.sleep(BETWEEN_S)
    raise _cannot_read(pid, output)


def _cannot_read(pid: int, output: str) -> DoctorError:
    if not os.path.exists(f"/proc/{pid}"):
        return DoctorError(
            f"there is no process {pid}", hint="`triton-doctor top` shows the processes that triton-doctor watches"
        )
    if DENIED in output:
        hint = "run as the same user or as root; a container needs `--cap-add SYS_PTRACE`"
        return DoctorError(f"no permission to read process {pid}", hint=hint)
    reason = next(iter(output.splitlines()), "py-spy gave no reason").removeprefix("Error: ")
    return DoctorError(f"the stacks of process {pid} cannot be read: {reason}", hint="name a process that runs Python")


def _read_thread(thread: dict[str, Any]) -> ThreadStack:
    frames = tuple(
        StackFrame(
            function=str(frame.get("name", "")),
            path=str(frame.get("filename", "")),
            line=int(frame.get("line") or 0),
            values={str(local.get("name")): str(local.get("repr")) for local in frame.get("locals") or ()},
        )
        for frame in thread.get("frames", ())
    )
    native = int(thread.get("os_thread_id") or thread.get("thread_id") or 0)
    # Python names its threads once `threading` is imported; the first has the id of its process.
    unnamed = "MainThread" if native == thread.get("pid") else ""
    return ThreadStack(thread=native, name=str(thread.get("thread_name") or unnamed), frames=frames)


def read_activity(stack: ThreadStack, pid: int) -> ThreadActivity | None:
    """Return what the thread of `stack`, in process `pid`, does in Triton; None if it is not in Triton."""
    depth = next((index for index, frame in enumerate(stack.frames) if _place(frame)), None)
    if depth is None:
        return None
    kernel, stage = "", ""
    for inner, frame in zip((None, *stack.frames), stack.frames, strict=False):
        if _place(frame) == COMPILING:
            kernel = _text(frame.values.get("file_name", ""))
            stage = _stage(frame, inner)
            break
    # Triton may be installed anywhere, such as in the folder of its repository.
    root = stack.frames[depth].path.rpartition("/triton/")[0] + "/triton/"
    outside = (frame for frame in stack.frames[depth:] if not frame.path.startswith(root))
    site = next(filter(_is_users, outside), None)
    return ThreadActivity(
        thread=stack.thread,
        name=stack.name,
        what=_place(stack.frames[depth]),
        kernel=kernel,
        stage=stage,
        path="" if site is None else site.path,
        line=0 if site is None else site.line,
        source="" if site is None else _read_line(pid, site),
    )


def find_place(stack: ThreadStack) -> StackFrame | None:
    """Return the innermost frame of the user's code in `stack`, else the innermost frame, or None."""
    return next(filter(_is_users, stack.frames), stack.frames[0] if stack.frames else None)


def find_wait(stacks: Iterable[ThreadStack]) -> str:
    """Return where a thread of `stacks` waits for other ranks; empty if none does.

    This is a collective of torch.distributed, or a wait for the GPU, since NCCL returns early to the host.
    """
    for stack in stacks:
        inside = [frame.function for frame in stack.frames if frame.path.endswith(COLLECTIVES)]
        # The outermost is what the program called: `barrier` may call another.
        if inside and NO_COLLECTIVE.search(inside[-1]) is None:
            return f"in a collective (`{inside[-1]}`)"
        if stack.frames and stack.frames[0].path.endswith(STREAMS) and stack.frames[0].function.endswith("synchronize"):
            return "for its GPU (`synchronize`)"
    return ""


def _place(frame: StackFrame) -> str:
    # py-spy names a method with its class where Python knows it (3.11 and newer).
    name = frame.function.rpartition(".")[2]
    ends = (what for (path, function), what in PLACES.items() if function == name and frame.path.endswith(path))
    return next(ends, "")


def _stage(frame: StackFrame, inner: StackFrame | None) -> str:
    # The loop over the stages has `ext`, which outlives it (triton 3.9 compiler.py:320).
    if inner is None:
        return ""
    if "add_stages" in inner.function:
        return _text(frame.values.get("ext", ""))
    return "ir" if inner.function.endswith("make_ir") else ""


def _text(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else ""


def _is_users(frame: StackFrame) -> bool:
    return LIBRARIES.search(frame.path) is None and not frame.path.startswith(OURS)


def _read_line(pid: int, frame: StackFrame) -> str:
    # As the process sees its files: it may be in a container.
    try:
        lines = read_regular_file(f"/proc/{pid}/root{frame.path}").decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return ""
    return "".join(lines[frame.line - 1 : frame.line]).strip()[:LONGEST_LINE]

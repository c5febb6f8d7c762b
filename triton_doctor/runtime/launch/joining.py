"""What a watched process does once it has imported triton: it records, from there to its end."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime import hooks
from triton_doctor.runtime.event import InterpretedEvent
from triton_doctor.runtime.launch.environment import PARENT, TARGET
from triton_doctor.runtime.watch import Session

if TYPE_CHECKING:
    from collections.abc import Callable

# prctl(2)
PR_SET_PDEATHSIG = 1


def join(folder: str, *, started_ns: int) -> None:
    """Record into `folder`. `started_ns` is when this process began, as `time.perf_counter_ns` has it."""
    if os.environ.get(PARENT) == str(os.getppid()):
        end_with_parent()
    target = os.environ.get(TARGET)
    if target:
        from triton_doctor.runtime.target import activate

        activate(target)
    session = Session(free_path(Path(folder)), started_ns=started_ns)
    hooks.attach(session.receive)
    session.count_from(hooks.launches_so_far())
    atexit.register(end, session)
    before_leaving("_exit", lambda: end(session))
    # An exec can fail, and the program go on.
    before_leaving("execv", session.checkpoint)
    before_leaving("execve", session.checkpoint)


def end(session: Session) -> None:
    """Write what is left to write."""
    for kernel, (count, took_ns) in hooks.interpreted_so_far().items():
        event = InterpretedEvent(kernel=kernel, count=count, took_us=took_ns // 1000, at_ns=time.time_ns())
        session.receive(event)
    session.close()
    hooks.detach(session.receive)
    session.finish()


def free_path(folder: Path) -> Path:
    """A file for this process in `folder`. After exec the same process is another program: that has a second file."""
    path, number = folder / f"{os.getpid()}.jsonl", 1
    while path.exists():
        number += 1
        path = folder / f"{os.getpid()}-{number}.jsonl"
    return path


def before_leaving(name: str, act: Callable[[], None]) -> None:
    """`os._exit` and `os.exec...` end a process, or its program, and run nothing at exit: `act` before."""
    leave: Callable[..., Any] = getattr(os, name)

    def leaving(*args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(Exception):
            act()
        return leave(*args, **kwargs)

    leaving.__name__, leaving.__doc__ = leave.__name__, leave.__doc__
    setattr(os, name, leaving)


def end_with_parent() -> None:
    """Who kills `triton-doctor run` with a signal that it cannot pass on means the program."""
    with contextlib.suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

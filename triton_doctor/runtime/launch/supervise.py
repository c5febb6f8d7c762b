"""Starting a program and waiting for its end, as a shell would: it gets the signals, and its status is ours."""

from __future__ import annotations

import os
import signal

from triton_doctor.errors import DoctorError

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
# What a terminal sends, it sends to all processes in front of it: the program has it already (sigaction(2), SI_KERNEL).
FROM_TERMINAL = 0x80


def supervise(
    command: Sequence[str], environment: Mapping[str, str], *, every_s: float, meanwhile: Callable[[int], None]
) -> tuple[int, int]:
    """Run `command`; return its exit status, negative for a signal, and its process id.

    `meanwhile` is called with the process id every `every_s` seconds. Raises DoctorError if it cannot be started.
    """
    awaited = (*PASSED_ON, signal.SIGCHLD)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    try:
        pid = start(command, environment, mask)
        while True:
            got = signal.sigtimedwait(awaited, every_s)
            # Asked each time, for another thread of ours may have had the signal that says so.
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status), pid
            if got is None:
                meanwhile(pid)
            elif got.si_signo != signal.SIGCHLD and got.si_code != FROM_TERMINAL:
                os.kill(pid, got.si_signo)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def start(command: Sequence[str], environment: Mapping[str, str], mask: Iterable[int]) -> int:
    """Start `command` with the signal mask `mask` and default signal handling; return its process id.

    Raises DoctorError if it cannot be started.
    """
    # Where nobody waits for children, we still must.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        return os.posix_spawnp(
            command[0], list(command), environment, setsigmask=mask, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ]
        )
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise DoctorError(
            f"cannot start {command[0]}: {reason}", hint="name a script, `-m` and a module, or a command"
        ) from error


def leave_as(status: int) -> int:
    """Return the shell exit status for `status`; if the program died of a signal, die of the same one."""
    if status < 0:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status if status >= 0 else 128 - status

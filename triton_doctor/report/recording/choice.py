"""What of a recording is reported: which kernels, from when on, in which order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.event import AutotuneEvent, CompileEvent
from triton_doctor.runtime.program_event import MarkEvent
from triton_doctor.runtime.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.runtime.account import Account

WARMUP = "warmup"


def choose(processes: Sequence[Recording], *, kernel: str, since: str | None) -> tuple[Recording, ...]:
    """Select what concerns kernels that match the glob `kernel`, from `since` on.

    `since` is `warmup`, or a number of seconds after the first process began. Raises DoctorError for anything else.
    """
    chosen = processes if kernel == "*" else [process.of(kernel) for process in processes]
    if since is None:
        return tuple(chosen)
    start_ns = warm_ns(processes) if since == WARMUP else begin_ns(processes) + int(read_seconds(since) * 1e9)
    return tuple(later(process, start_ns) for process in chosen)


def later(process: Recording, start_ns: int) -> Recording:
    """Remove compiles and rounds of tuning before `start_ns`, in Unix time; launches have no time and are kept."""
    events = [
        event
        for event in process.events
        if not isinstance(event, CompileEvent | AutotuneEvent) or event.at_ns >= start_ns
    ]
    return Recording(headers=process.headers, events=events, before=process.before)


def warm_ns(processes: Sequence[Recording]) -> int:
    """Return when the warm-up ended, in Unix nanoseconds. Raises DoctorError if the recording does not say."""
    for process in processes:
        for event in process.events:
            if isinstance(event, MarkEvent):
                return event.at_ns
    raise DoctorError("the recording does not say when its warm-up was over", hint="--since 30 means after 30 seconds")


def begin_ns(processes: Sequence[Recording]) -> int:
    """Return when the first process began, in Unix nanoseconds."""
    return min(header.started_at_ns for process in processes for header in process.headers)


def read_seconds(text: str) -> float:
    """Parse a number of seconds. Raises DoctorError for anything else."""
    try:
        return float(text)
    except ValueError:
        raise DoctorError(f"--since takes warmup or seconds, not {text!r}", hint="--since 30") from None


def sort_kernels(account: Account) -> Account:
    """Sort the kernels of `account`: those that waited longest first; of a dry run, those of most variants."""
    order = sorted(account.kernels, key=lambda kernel: (-kernel.waited_us, -kernel.compiled, kernel.kernel))
    return replace(account, kernels=tuple(order))

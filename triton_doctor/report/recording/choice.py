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
    """What concerns the kernels that match the glob `kernel`, from `since` on: `warmup`, or seconds as text."""
    chosen = processes if kernel == "*" else [process.of(kernel) for process in processes]
    if since is None:
        return tuple(chosen)
    start_ns = warm_ns(processes) if since == WARMUP else begin_ns(processes) + int(read_seconds(since) * 1e9)
    return tuple(later(process, start_ns) for process in chosen)


def later(process: Recording, start_ns: int) -> Recording:
    """Without the compiles and rounds of tuning before `start_ns`. Launches have no time: all of them stay."""
    events = [
        event
        for event in process.events
        if not isinstance(event, CompileEvent | AutotuneEvent) or event.at_ns >= start_ns
    ]
    return Recording(headers=process.headers, events=events, before=process.before)


def warm_ns(processes: Sequence[Recording]) -> int:
    """When the warm-up was over, in Unix time."""
    for process in processes:
        for event in process.events:
            if isinstance(event, MarkEvent):
                return event.at_ns
    raise DoctorError("the recording does not say when its warm-up was over", hint="--since 30 means after 30 seconds")


def begin_ns(processes: Sequence[Recording]) -> int:
    """When the first process began, in Unix time."""
    return min(header.started_at_ns for process in processes for header in process.headers)


def read_seconds(text: str) -> float:
    """A number of seconds."""
    try:
        return float(text)
    except ValueError:
        raise DoctorError(f"--since takes warmup or seconds, not {text!r}", hint="--since 30") from None


def sort_kernels(account: Account) -> Account:
    """Return the same with the kernels that waited longest first; of a dry run, those of most variants."""
    order = sorted(account.kernels, key=lambda kernel: (-kernel.waited_us, -kernel.compiled, kernel.kernel))
    return replace(account, kernels=tuple(order))

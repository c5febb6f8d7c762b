"""Tests in a dry run: which of their failures only say that there are no values, and how long each may take."""

from __future__ import annotations

import contextlib
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pytest

PREFIX = "dry: "
# A test whose reference loops over elements in Python would take hours at 0.1 ms an operator.
DEFAULT_SECONDS = 60.0
REASONS_SHOWN = 20
# Where torch says that fakes cannot do something.
OF_FAKES = ("torch._subclasses.", "torch.fx.experimental.symbolic_shapes")


class DryTimeoutError(Exception):
    """A test ran longer than the limit of a dry run."""


def read_seconds(text: str | None) -> float:
    """Parse the time limit of a test in seconds; None means the default. Raises DoctorError for anything else."""
    if text is None:
        return DEFAULT_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise DoctorError(f"triton_doctor_dry_seconds is {text!r}", hint="give a number of seconds above 0")
    return seconds


@contextlib.contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Raise DryTimeoutError inside after `seconds`, unless somebody else uses the alarm, or this is another thread."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
        yield
        return

    def end(number: int, frame: object) -> None:
        raise DryTimeoutError(f"ran longer than {seconds:g} s")

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def explain_failure(raised: pytest.ExceptionInfo[BaseException]) -> str | None:
    """Return why a test's failure is only due to the missing data of a dry run; None for any other failure.

    Such failures are requests for data, torch operations that fake tensors do not support, and anything after a guess.
    """
    from triton_doctor.runtime.dry import first_guess
    from triton_doctor.runtime.dry.questions import DryStopError

    error = raised.value
    if isinstance(error, DryTimeoutError):
        return f"{PREFIX}{error}"
    last = raised.traceback[-1]
    where = f"{type(error).__name__} at {Path(last.path).name}:{last.lineno + 1}"
    if isinstance(error, DryStopError):
        return f"{PREFIX}{error}"
    if type(error).__module__.startswith(OF_FAKES):
        return f"{PREFIX}{where}: torch cannot do that without data"
    guess = first_guess()
    return None if guess is None else f"{PREFIX}{where}, after a guess: {guess}"


def summarize_reasons(reasons: Iterable[tuple[str, int]]) -> Iterator[str]:
    """Yield a line for each reason, the most frequent first."""
    every = sorted(reasons, key=lambda pair: (-pair[1], pair[0]))
    if every:
        yield f"dry: {sum(count for _, count in every)} tests ended early, which says nothing about the program:"
    for reason, count in every[:REASONS_SHOWN]:
        yield f"  {count}x {reason.removeprefix(PREFIX)}"
    if len(every) > REASONS_SHOWN:
        yield f"  and {len(every) - REASONS_SHOWN} reasons more"


def summarize_run(recording: Any) -> Iterator[str]:
    """Yield a line or two on what a session ran dry, then its warnings."""
    from triton_doctor.phrases import plural

    launches = sum(recording.launches.values())
    variants, kernels = len(recording.compiled), len({event.kernel for event in recording.compiled})
    head = (
        f"dry: {plural(launches, 'launch', 'launches')}, {plural(variants, 'variant')} of {plural(kernels, 'kernel')}"
    )
    yield head + (f", {len(recording.tunings):,} rounds of tuning" if recording.tunings else "")
    yield "dry: the program found " + ", ".join(f"{name} {value}" for name, value in recording.pretended.items())
    yield from (f"dry: {message}" for message in dict.fromkeys(warning.message for warning in recording.warnings))

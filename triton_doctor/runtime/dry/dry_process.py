"""Begins, records and ends the dry run of this process."""

from __future__ import annotations

import atexit
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.dry.file_overlay import divert_writes
from triton_doctor.runtime.dry.gpu import read_gpu

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Literal

    from triton_doctor.runtime.dry.gpu import AbsentGpu
    from triton_doctor.runtime.dry.patches import Patches
    from triton_doctor.runtime.dry.questions import Questions
    from triton_doctor.runtime.dry.triton_stub import Caches
    from triton_doctor.runtime.recording import Recording

OLDEST_TORCH, OLDEST_TRITON = (2, 9), (3, 4)


@dataclass(slots=True, kw_only=True)
class DryProcess:
    """The dry run that this process is in. `caches` are those of each context, the innermost last."""

    gpu: AbsentGpu
    questions: Questions
    patches: Patches
    caches: list[Caches]


_process: DryProcess | None = None
_lasting = contextlib.ExitStack()


def active_gpu() -> AbsentGpu | None:
    """Return the simulated GPU of this process; None outside a dry run."""
    return None if _process is None else _process.gpu


def begin_case() -> None:
    """Start a new case, if this process runs dry."""
    if _process is not None:
        _process.questions.begin_case()


def begin_dry(*, target: str | None, unknown: str, world_size: int, rank: int) -> None:
    """Run this process dry until it ends, without a recording. Raises DoctorError where that does not work."""
    if unknown not in ("guess", "stop"):
        raise DoctorError(f"unknown is {unknown!r}", hint='give "guess" or "stop"')
    require_packages()
    _lasting.enter_context(_go_dry(target, unknown, world_size, rank))  # type: ignore[arg-type]
    _lasting.enter_context(_own_caches())
    # While torch is whole: the contexts would else be closed as the interpreter is taken down.
    atexit.register(_lasting.close)


@contextlib.contextmanager
def run_dry(
    *,
    target: str | None,
    unknown: Literal["guess", "stop"],
    world_size: int,
    rank: int,
    path: str | Path | None = None,
    writes: Literal["overlay", "allow"] = "overlay",
) -> Iterator[Recording]:
    """Run everything inside this context dry and record it; see `triton_doctor.dry_run`."""
    if unknown not in ("guess", "stop"):
        raise DoctorError(f"unknown is {unknown!r}", hint='give "guess" or "stop"')
    if not 0 <= rank < world_size:
        raise DoctorError(f"rank {rank} of {world_size} processes does not exist", hint="world_size=8, rank=0")
    require_packages()
    with _go_dry(target, unknown, world_size, rank), _own_caches(), _record(path) as recording, divert_writes(writes):
        yield recording


def first_guess() -> str | None:
    """Return the first guess of the current case with its place; None without one or outside a dry run."""
    return None if _process is None else _process.questions.first


@contextlib.contextmanager
def record_from_start(*, warns: bool = True) -> Iterator[Recording]:
    """Record the current dry run with empty kernel caches of its own.

    `warns` enables warnings about kernels not launched because tensors are fakes, for which all modules are read.
    """
    with _own_caches(), _record(None, warns=warns) as recording:
        yield recording


def require_packages() -> None:
    """Raise DoctorError unless torch and triton are installed in new enough versions."""
    # Triton first: a second less to wait for a refusal.
    for name, oldest in (("triton", OLDEST_TRITON), ("torch", OLDEST_TORCH)):
        try:
            module = __import__(name)
        except ImportError as error:
            raise DoctorError(f"{name} is not installed here", hint="a dry run needs torch and triton") from error
        from triton_doctor.runtime.hooks import parse_version

        if parse_version(module.__version__) < oldest:
            needed = ".".join(map(str, oldest))
            raise DoctorError(
                f"dry runs need {name} {needed} or newer, and this is {module.__version__}",
                hint=f"pip install '{name}>={needed}'",
            )


@contextlib.contextmanager
def _go_dry(target: str | None, unknown: Literal["guess", "stop"], world_size: int, rank: int) -> Iterator[None]:
    """Run this process dry inside this context; keeps an outer dry run."""
    global _process
    if _process is not None:
        if target is not None and _process.gpu != read_gpu(target):
            raise DoctorError(
                f"this process already runs dry for {_process.gpu.target}", hint="give the inner one the same target"
            )
        before, _process.questions.unknown = _process.questions.unknown, unknown
        try:
            yield
        finally:
            _process.questions.unknown = before
        return
    from triton_doctor.runtime.dry.selftest import require_working
    from triton_doctor.runtime.dry.simulation import pretend

    gpu = read_gpu(target)
    require_working(lambda: pretend(gpu, unknown))
    with pretend(gpu, unknown, world_size, rank) as process:
        _process = process
        try:
            yield
        finally:
            _process = None


@contextlib.contextmanager
def _own_caches() -> Iterator[None]:
    """Use empty kernel caches inside this context, so that kernels compiled earlier compile again."""
    from triton_doctor.runtime.dry.triton_stub import Caches

    assert _process is not None
    caches = Caches()
    _process.caches.append(caches)
    _process.questions.begin_case()
    try:
        yield
    finally:
        _process.caches.remove(caches)
        caches.close()


@contextlib.contextmanager
def _record(path: str | Path | None, *, warns: bool = True) -> Iterator[Recording]:
    from triton_doctor.runtime.dry.triton_stub import report_kernels_kept_back
    from triton_doctor.runtime.watch import record

    with record(path) as recording:
        yield recording
        if warns:
            report_kernels_kept_back()

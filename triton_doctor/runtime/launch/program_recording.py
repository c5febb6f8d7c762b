"""What `run` itself saw, as one more recording beside those of the processes."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.errors import reason_of
from triton_doctor.runtime.dry.gpu import read_gpu
from triton_doctor.runtime.event import WarningEvent
from triton_doctor.runtime.lines import write_line
from triton_doctor.runtime.program_event import WARMED_UP, MarkEvent, ProgramEvent
from triton_doctor.runtime.watch import make_header

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FILE = "program.jsonl"


def write_program(
    folder: Path,
    run: str,
    *,
    command: tuple[str, ...],
    target: str | None,
    is_dry: bool,
    warm_at_ns: int | None,
    started_at_ns: int,
    wall_ns: int,
    status: int,
    pid: int,
    gpus: tuple[tuple[str, int, int, float], ...],
    unseen: Sequence[str],
    files: Sequence[str],
) -> str | None:
    """Write a recording of the program itself into `folder`; return the reason of a failure, or None."""
    gpu = read_gpu(target) if is_dry else None
    header = replace(
        make_header(),
        command=command,
        target=target if gpu is None else gpu.target,
        compile_only=target is not None or is_dry,
        dry=is_dry,
        pretended=() if gpu is None else gpu.describe(),
        pid=os.getpid(),
        started_at_ns=started_at_ns,
    )
    lines = [write_line(header)]
    if warm_at_ns is not None:
        lines.append(write_line(MarkEvent(name=WARMED_UP, at_ns=warm_at_ns)))
    lines.append(
        write_line(
            ProgramEvent(wall_us=wall_ns // 1000, status=status, at_ns=started_at_ns + wall_ns, pid=pid, gpus=gpus)
        )
    )
    at_ns = started_at_ns + wall_ns
    lines += [write_line(WarningEvent(kind="unseen", message=message, at_ns=at_ns)) for message in unseen]
    lines += [write_line(WarningEvent(kind="files", message=message, at_ns=at_ns)) for message in files]
    path = folder / f"{run}.{FILE}"
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        with contextlib.suppress(OSError):
            path.unlink()
        return f"cannot write {path}: {reason_of(error)}"
    return None

"""Writes the recording of `run` itself, beside those of the processes."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.errors import reason_of
from triton_doctor.runtime.dry.gpu import read_gpu
from triton_doctor.runtime.event import WarningEvent
from triton_doctor.runtime.lines import write_line
from triton_doctor.runtime.program_event import WARMED_UP, MarkEvent
from triton_doctor.runtime.watch import make_header

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from triton_doctor.runtime.event import Event, Header
    from triton_doctor.runtime.program_event import ProgramEvent


def make_program_header(*, command: tuple[str, ...], target: str | None, is_dry: bool, started_at_ns: int) -> Header:
    """Return the header for the recording of `run` itself, which started `command`."""
    gpu = read_gpu(target) if is_dry else None
    return replace(
        make_header(),
        command=command,
        target=target if gpu is None else gpu.target,
        compile_only=target is not None or is_dry,
        dry=is_dry,
        pretended=() if gpu is None else gpu.describe(),
        pid=os.getpid(),
        started_at_ns=started_at_ns,
    )


def write_program(
    path: Path,
    header: Header,
    program: ProgramEvent,
    *,
    warm_at_ns: int | None,
    unseen: Sequence[str],
    files: Sequence[str],
) -> str | None:
    """Write the recording of `run` itself to `path`; return the reason of a failure, or None.

    `unseen` describes what was not recorded, `files` what a dry run did to files.
    """
    marks = [] if warm_at_ns is None else [MarkEvent(name=WARMED_UP, at_ns=warm_at_ns)]
    warnings = [
        WarningEvent(kind=kind, message=message, at_ns=program.at_ns)
        for kind, messages in (("unseen", unseen), ("files", files))
        for message in messages
    ]
    lines: list[Header | Event] = [header, *marks, program, *warnings]
    try:
        path.write_text("".join(f"{write_line(line)}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        with contextlib.suppress(OSError):
            path.unlink()
        return f"cannot write {path}: {reason_of(error)}"
    return None

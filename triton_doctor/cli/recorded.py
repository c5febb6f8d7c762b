"""Recordings that the command line names: reads them, warns of damage, and judges findings by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.cli.messages import print_detail, print_hint, print_message

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from triton_doctor.evidence.weighing import Weighing
    from triton_doctor.runtime.recording import Recording

STRANGERS_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The `processes` of the recordings that were named. `whole` is whether all that was named could be read."""

    processes: tuple[Recording, ...] = ()
    whole: bool = True


def read_named(paths: Sequence[Path]) -> Recorded:
    """Read the recordings in `paths`, and say on stderr what is damaged. Raises DoctorError where nothing is left."""
    if not paths:
        return Recorded()
    from triton_doctor.runtime.recording_files import read_recordings

    reading = read_recordings(paths)
    if not reading.processes:
        raise reading.errors[0]
    for error in reading.errors:
        print_message(error.message)
        print_hint(error.hint)
    damaged = [warning for process in reading.processes for warning in process.warnings if warning.kind == "damaged"]
    for warning in damaged:
        print_message(warning.message)
    return Recorded(processes=reading.processes, whole=not reading.errors and not damaged)


def weighing(recordings: Sequence[Recording], cwd: Path) -> Weighing | None:
    """Return what judges findings by `recordings`; None if there are no recordings."""
    if not recordings:
        return None
    from triton_doctor.evidence.weighing import Weighing

    return Weighing(recordings=recordings, cwd=cwd)


def describe_weighing(weighed: Weighing | None) -> None:
    """Print which kernels of the recordings were not found in the files, if that may surprise."""
    if weighed is None:
        return
    if weighed.strangers:
        print_message("no kernel of the recordings is in the files that were read")
        for kernel in weighed.strangers[:STRANGERS_SHOWN]:
            print_detail(f"`{kernel.name}` of {kernel.path}")
        if len(weighed.strangers) > STRANGERS_SHOWN:
            print_detail(f"and {len(weighed.strangers) - STRANGERS_SHOWN} more")
    for name in weighed.ambiguous:
        print_message(f"`{name}` of the recordings could be any of several kernels, and counts for none")

"""Recordings that the command line names: what can be read is used, and what cannot is said and makes the status 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.cli.asides import print_hint, print_message

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from triton_doctor.runtime.recording import Recording


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

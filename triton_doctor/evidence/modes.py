"""Compares findings about interpreter mode with recorded runs: did the kernels of the file run interpreted?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.evidence.kernel_matching import fit_of, is_program
from triton_doctor.evidence.verdicts import counted, duration
from triton_doctor.finding import Evidence, Verdict
from triton_doctor.runtime.account import account

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from triton_doctor.finding import Finding
    from triton_doctor.runtime.account import InterpretedKernel
    from triton_doctor.runtime.event import KernelName
    from triton_doctor.runtime.recording import Recording

# A setting of a container or a job cannot be tied to a recorded program.
OF_A_PROGRAM = frozenset({"TRD101", "TRD103", "TRD403"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """The kernels that one process ran: `script` is the script of its command, "" where it has none."""

    script: str
    interpreted: tuple[InterpretedKernel, ...]
    launched: tuple[tuple[KernelName, int], ...]


def read_modes(recordings: Sequence[Recording]) -> tuple[Mode, ...]:
    """Return the processes that launched any kernel, compiled or interpreted."""
    modes = []
    for recording in recordings:
        process = account([recording])
        launched = tuple((kernel.kernel, kernel.launches) for kernel in process.kernels if not kernel.direct)
        if process.interpreted or launched:
            script = next((word for word in recording.headers[0].command if word.endswith(".py")), "")
            modes.append(Mode(script=script, interpreted=process.interpreted, launched=launched))
    return tuple(modes)


def judge_mode(finding: Finding, modes: Sequence[Mode], cwd: Path) -> Evidence | None:
    """Compare a finding about interpreter mode with `modes`; None for a finding about anything else."""
    if finding.code not in OF_A_PROGRAM:
        return None
    path = (cwd / finding.path).as_posix()
    own = [mode for mode in modes if _is_of(mode, path)]
    interpreted = [kernel for mode in own for kernel in mode.interpreted]
    launches = sum(count for mode in own for _, count in mode.launched)
    if interpreted:
        names = list(dict.fromkeys(f"`{kernel.kernel.name}`" for kernel in interpreted))
        what = names[0] if len(names) == 1 else counted(len(names), "kernel")
        count = sum(kernel.launches or 0 for kernel in interpreted)
        took_us = sum(kernel.took_us or 0 for kernel in interpreted)
        price = [counted(count, "launch"), duration(took_us)] if count else []
        return Evidence(
            verdict=Verdict.CONFIRMED,
            text=", ".join([f"{what} ran in interpreter mode", *price]),
            launches=count or None,
            waited_us=took_us,
        )
    if launches:
        text = f"{counted(launches, 'launch')}, all compiled"
        return Evidence(verdict=Verdict.CLEARED, text=text, launches=launches)
    return Evidence(verdict=Verdict.NOT_EXERCISED, text="no recorded program ran this file", launches=0)


def _is_of(mode: Mode, path: str) -> bool:
    """Return whether the file at `path` is the script of `mode`, or defines one of its kernels."""
    kernels = [*(kernel.kernel for kernel in mode.interpreted), *(kernel for kernel, _ in mode.launched)]
    return (bool(mode.script) and is_program(path, mode.script)) or any(any(fit_of(kernel, path)) for kernel in kernels)

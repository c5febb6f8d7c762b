"""Attaches to each finding of a scan the evidence of recordings, and adds findings that only the runs show.

Findings about interpreter mode are compared with whether the kernels of their file ran interpreted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.evidence import may_leave_out
from triton_doctor.evidence.explored import explored_alone, judge_explored, ran_alone, unpredicted_of_sweeps
from triton_doctor.evidence.kernel_matching import fit_of, is_program, match
from triton_doctor.evidence.recorded_kernels import has_guessed, is_dry, read_seen
from triton_doctor.evidence.same_axis import move_siblings
from triton_doctor.evidence.unpredicted import unpredicted
from triton_doctor.evidence.verdicts import duration, judge, of_dry_runs, settle
from triton_doctor.finding import Evidence, Verdict
from triton_doctor.phrases import plural
from triton_doctor.runtime.account import account
from triton_doctor.runtime.cause_table import CONSTEXPR
from triton_doctor.static.variability.queries.parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from triton_doctor.evidence.kernel_matching import KernelKey
    from triton_doctor.evidence.recorded_kernels import RecordedKernel
    from triton_doctor.finding import Finding
    from triton_doctor.runtime.account import InterpretedKernel
    from triton_doctor.runtime.event import KernelName
    from triton_doctor.runtime.recording import Recording
    from triton_doctor.runtime.savings import Saving
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Kernel

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
            script = script_of(recording.headers[0].command)
            modes.append(Mode(script=script, interpreted=process.interpreted, launched=launched))
    return tuple(modes)


def script_of(command: Sequence[str]) -> str:
    """Return the script that `command` runs; empty where it runs none."""
    return next((word for word in command if word.endswith(".py")), "")


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
        what = names[0] if len(names) == 1 else plural(len(names), "kernel")
        count = sum(kernel.launches or 0 for kernel in interpreted)
        took_us = sum(kernel.took_us or 0 for kernel in interpreted)
        price = [plural(count, "launch"), duration(took_us)] if count else []
        return Evidence(
            verdict=Verdict.CONFIRMED,
            text=", ".join([f"{what} ran in interpreter mode", *price]),
            launches=count or None,
            waited_us=took_us,
        )
    if launches:
        text = f"{plural(launches, 'launch')}, all compiled"
        return Evidence(verdict=Verdict.CLEARED, text=text, launches=launches)
    return Evidence(verdict=Verdict.NOT_EXERCISED, text="no recorded program ran this file", launches=0)


def _is_of(mode: Mode, path: str) -> bool:
    """Return whether the file at `path` is the script of `mode`, or defines one of its kernels."""
    kernels = [*(kernel.kernel for kernel in mode.interpreted), *(kernel for kernel, _ in mode.launched)]
    return (bool(mode.script) and is_program(path, mode.script)) or any(any(fit_of(kernel, path)) for kernel in kernels)


@dataclass(slots=True, kw_only=True)
class Weighing:
    """Weighs the findings of one scan by recordings. Afterwards `known` counts the kernels of the source that ran.

    `strangers` are the recorded kernels where none is known; `ambiguous` are names that fit several kernels of the
    source, and count for none.
    """

    recordings: Sequence[Recording]
    cwd: Path
    known: int = 0
    strangers: tuple[KernelName, ...] = ()
    ambiguous: tuple[str, ...] = ()

    def __call__(self, project: Project, findings: Sequence[Finding]) -> list[Finding]:
        """Return `findings` with the evidence for each, and the findings that only the recordings show."""
        recorded = read_seen(self.recordings)
        modes = read_modes(self.recordings)
        matched = match(project, recorded, self.cwd)
        self.known, self.ambiguous = len(matched.seen), matched.ambiguous
        found = matched.seen or matched.ambiguous
        self.strangers = () if found else tuple(sorted(recorded, key=lambda name: (name.path, name.line)))
        at_place: dict[tuple[str, int, str], KernelKey] = {
            (kernel.path, kernel.line, kernel.name): kernel.key for kernel in project.kernels()
        }
        ran, explored = ran_alone(matched.seen), explored_alone(matched.seen)
        advised = _advised(project, ran)
        guessed = any(map(has_guessed, self.recordings))
        weighed = []
        for finding in findings:
            place = finding.facts.kernel_location
            key = at_place.get((place.path, place.line, finding.facts.kernel or "")) if place is not None else None
            if key in explored:
                weighed.append(settle(finding, judge_explored(finding, explored[key])))
                continue
            seen = ran.get(key) if key is not None else None
            saves = advised.get(key, {}) if key is not None else {}
            mode = judge_mode(finding, modes, self.cwd)
            if mode is not None:
                mode = of_dry_runs(mode, dry=all(map(is_dry, self.recordings)), guessed=guessed)
            weighed.append(settle(finding, mode or judge(finding, seen, saves)))
        shown = [
            *weighed,
            *unpredicted(project, ran, weighed, advised),
            *unpredicted_of_sweeps(project, explored, weighed),
        ]
        return move_siblings(project, ran, shown)


def _advised(project: Project, seen: Mapping[KernelKey, RecordedKernel]) -> Mapping[KernelKey, Mapping[str, Saving]]:
    """Return for each kernel the constexprs that the run's report advises to take out of its key, with the saving."""
    every = Parameters(project)
    return {
        kernel.key: _saved_by_constexprs(kernel, every, seen[kernel.key])
        for kernel in project.kernels()
        if kernel.key in seen
    }


def _saved_by_constexprs(kernel: Kernel, every: Parameters, seen: RecordedKernel) -> Mapping[str, Saving]:
    uses = {parameter.param.name: parameter.use for parameter in every.of(kernel, lambda _, param: param.is_constexpr)}
    savings = seen.savings(lambda part: may_leave_out(part, seen.configured, uses))
    return {part.name: saving for saving in savings for part in saving.parts if part.code == CONSTEXPR}

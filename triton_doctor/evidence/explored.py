"""Judges findings by sweeps with arguments that the tool made up: by what a part of a key follows.

A finding is cleared only if the part follows the model for reasons other than names and positions, and nothing that
reaches the kernel failed or was left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.evidence.recorded_kernels import RecordedKernel
from triton_doctor.evidence.verdicts import JUDGES, MANY, RETUNED, UNREAD, VARYING, by_rounds, by_values
from triton_doctor.finding import Evidence, Finding, Severity, Verdict
from triton_doctor.runtime.sweep_event import CONSTEXPR, INTEGER, TUNING_KEY
from triton_doctor.static.variability.queries.description import facts
from triton_doctor.static.variability.queries.parameters import Parameters, in_autotune_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from triton_doctor.evidence.kernel_matching import KernelKey
    from triton_doctor.runtime.sweep_event import SweepEvent
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.variability.queries.parameters import Parameter

_RULES = {CONSTEXPR: (VARYING, UNREAD), TUNING_KEY: (RETUNED, RETUNED)}


def ran_alone(seen: Mapping[KernelKey, RecordedKernel]) -> dict[KernelKey, RecordedKernel]:
    """Return the kernels that ran with arguments of the program, without the processes whose arguments were made up."""
    kept = {key: tuple(process for process in kernel.processes if not process.explored) for key, kernel in seen.items()}
    return {key: RecordedKernel(processes=processes) for key, processes in kept.items() if processes}


def explored_alone(seen: Mapping[KernelKey, RecordedKernel]) -> dict[KernelKey, RecordedKernel]:
    """Return the kernels that ran only with arguments that the tool made up."""
    return {key: kernel for key, kernel in seen.items() if all(process.explored for process in kernel.processes)}


def judge_explored(finding: Finding, seen: RecordedKernel) -> Evidence | None:
    """Judge `finding` by the sweeps in `seen`; None where made-up arguments cannot decide."""
    judged = JUDGES.get(finding.code)
    name = finding.facts.parameter
    if judged is None or name is None:
        return None
    parts = [CONSTEXPR] if judged is by_values else [TUNING_KEY] if judged is by_rounds else []
    parts += [TUNING_KEY] if finding.facts.autotune_keys else []
    if finding.code == "TRD208":
        parts = [INTEGER]
    found = [swept for part in parts if (swept := seen.swept(part, name)) is not None]
    if not found:
        return None
    swept = max(found, key=lambda event: ("model", "unknown", "data").index(event.role) if event.role else 0)
    verdict = Verdict.NOT_EXERCISED
    if swept.role == "data" and swept.values > 1:
        verdict = Verdict.CONFIRMED
    elif swept.role == "model" and swept.is_certain and swept.is_covered and not seen.guessed:
        verdict = Verdict.CLEARED
    return Evidence(
        verdict=verdict,
        text=describe_swept(swept),
        values=swept.values,
        launches=seen.launches,
        dry=seen.dry,
        explored=True,
    )


def describe_swept(swept: SweepEvent) -> str:
    """Describe what a part of a key follows: "follows axis 1 of `q`", "varies with axis 2 of `w` (is it fixed?)"."""
    if swept.values < 2:
        return f"{swept.points:,} made-up calls of `{swept.entry}` gave it one value"
    formula = f": {swept.formula}" if swept.formula and swept.formula not in swept.follows else ""
    if swept.role == "data":
        return f"follows {swept.origin}{formula}"
    if swept.role == "model":
        return f"follows {swept.origin}, which {swept.why}"
    return f"varies with {swept.origin} (is it fixed?)"


def unpredicted_of_sweeps(
    project: Project, seen: Mapping[KernelKey, RecordedKernel], findings: Collection[Finding]
) -> Iterator[Finding]:
    """Yield a finding for each part of a key that follows the data, or may, and that none of `findings` reports.

    It is a warning only if the role of the part rests on neither a name nor a position.
    """
    reported = {
        (place.path, place.line, finding.facts.parameter)
        for finding in findings
        if (place := finding.facts.kernel_location) is not None
    }
    every = Parameters(project)
    for kernel in project.kernels():
        of_kernel = seen.get(kernel.key)
        if of_kernel is None:
            continue
        for parameter in every.of(kernel, lambda of, param: param.is_constexpr or in_autotune_key(of, param)):
            if (kernel.path, kernel.line, parameter.param.name) in reported:
                continue
            for part in (CONSTEXPR, TUNING_KEY):
                swept = of_kernel.swept(part, parameter.param.name)
                if swept is not None and swept.role != "model" and _grows(swept):
                    yield _added(parameter, part, swept, of_kernel)


def _grows(swept: SweepEvent) -> bool:
    return swept.values > 1 and (swept.growth in ("unbounded", "log2") or swept.values >= MANY)


def _added(parameter: Parameter, part: str, swept: SweepEvent, seen: RecordedKernel) -> Finding:
    kernel, name = parameter.kernel, parameter.param.name
    is_known = swept.role == "data" and swept.is_certain and swept.growth != "log2"
    source = parameter.worst or next(iter(parameter.sources), None)
    read, unread = _RULES[part]
    verb = "recompiles" if part == CONSTEXPR else "tunes"
    what = f"{verb} `{kernel.name}` for each value of" if swept.role == "data" else f"of `{kernel.name}` varies with"
    question = "" if swept.role == "data" else " (is it fixed?)"
    evidence = Evidence(
        verdict=Verdict.ADDED,
        text=describe_swept(swept),
        values=swept.values,
        launches=seen.launches,
        dry=seen.dry,
        explored=True,
    )
    return Finding(
        path=source.path if source is not None else kernel.path,
        span=source.span if source is not None else parameter.param.span,
        code=unread if parameter.use == "unread" else read,
        severity=Severity.WARNING if is_known else Severity.INFO,
        message=f"`{name}` {what} {swept.origin}{question}",
        facts=facts(parameter, source),
        evidence=evidence,
    )

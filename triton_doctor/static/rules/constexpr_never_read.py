"""TRD202: a constexpr that the kernel never reads, and that still is part of its key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity
from triton_doctor.static.project.launches import launches_of
from triton_doctor.static.variability.description import facts, tell_value, trail
from triton_doctor.static.variability.lattice import Kind
from triton_doctor.static.variability.parameters import Parameter, parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project

CODE = "TRD202"


def check(project: Project) -> Iterator[Finding]:
    """One finding a parameter of a launched kernel: at the launch that changes it most often, else at the parameter."""
    launches = launches_of(project)
    for parameter in parameters(project):
        if parameter.kernel.key in launches and parameter.param.is_constexpr and parameter.use == "unread":
            yield _finding(parameter)


def _finding(parameter: Parameter) -> Finding:
    kernel, param, worst = parameter.kernel, parameter.param, parameter.worst
    advice = f"remove `{param.name}` from `{kernel.name}` and from its launches"
    if worst is None or worst.kind is not Kind.PER_CALL:
        source = worst or next(iter(parameter.sources), None)
        return Finding(
            path=kernel.path,
            span=param.span,
            code=CODE,
            severity=Severity.INFO,
            message=f"`{kernel.name}` never reads its constexpr `{param.name}`",
            advice=advice,
            facts=facts(parameter, source),
        )
    return Finding(
        path=worst.path,
        span=worst.span,
        code=CODE,
        severity=Severity.INFO if worst.for_tests else Severity.WARNING,
        message=(
            f"`{kernel.name}` never reads its constexpr `{param.name}`, but recompiles for each value of "
            f"{tell_value(worst)}"
        ),
        advice=advice,
        facts=facts(parameter, worst),
        trail=trail(parameter, worst),
    )

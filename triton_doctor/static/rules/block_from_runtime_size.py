"""TRD206: a block as large as the data, without a cap: each power of two compiles, and large blocks take long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.description import describe_value, facts, trail
from triton_doctor.static.variability.queries.parameters import parameters
from triton_doctor.static.variability.values.lattice import Variability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project


CODE = "TRD206"


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each parameter that is rounded up but unbounded.

    One that is not rounded belongs to TRD201.
    """
    for parameter in parameters(project):
        worst = parameter.worst
        if not parameter.param.is_constexpr or parameter.need != "block" or worst is None:
            continue
        if worst.kind is not Variability.LOGARITHMIC or worst.number.bound is not None:
            continue
        name = parameter.param.name
        yield Finding(
            path=worst.path,
            span=worst.span,
            code=CODE,
            severity=Severity.INFO,
            message=(
                f"`{name}` grows with the data: {describe_value(worst)} has no upper limit, "
                f"and `{parameter.kernel.name}` "
                "compiles for each power of two"
            ),
            advice=f"cap `{name}` with `min(...)` and loop over blocks of that size in the kernel",
            facts=facts(parameter, worst),
            trail=trail(parameter, worst),
        )


RULE = Rule(code=CODE, check=check)

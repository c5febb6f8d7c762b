"""TRD301: an autotune key that follows the data, so that each new value tunes all configs again."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity
from triton_doctor.static.flow.kinds import Kind
from triton_doctor.static.parameters import parameters
from triton_doctor.static.telling import described, facts, trail

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.model import Kernel, Project
    from triton_doctor.static.parameters import Parameter, Source

CODE = "TRD301"


def check(project: Project) -> Iterator[Finding]:
    """One finding a kernel, at the name of its key that changes most often."""
    for _, of_kernel in groupby(parameters(project), key=lambda parameter: parameter.kernel.key):
        varying = [
            (parameter, worst)
            for parameter in of_kernel
            if parameter.in_autotune_key and (worst := parameter.worst) is not None and worst.kind is Kind.PER_CALL
        ]
        if varying and _has_choice(varying[0][0].kernel):
            yield _finding(varying)


def _has_choice(kernel: Kernel) -> bool:
    """Whether there may be two configs: one alone is taken, and never timed (triton 3.9 autotuner.py Autotuner.run)."""
    return kernel.autotune is not None and kernel.autotune.config_count != 1


def _finding(varying: Sequence[tuple[Parameter, Source]]) -> Finding:
    parameter, worst = min(varying, key=lambda one: (not one[1].scalar.from_data, one[1].path, one[1].span))
    kernel, name = parameter.kernel, parameter.param.name
    others = [f"`{other.param.name}`" for other, _ in varying if other is not parameter]
    count = kernel.autotune.config_count if kernel.autotune is not None else None
    configs = f"all {count} configs" if count else "all configs"
    return Finding(
        path=worst.path,
        span=worst.span,
        code=CODE,
        severity=_severity(worst),
        message=(
            f"`{kernel.name}` tunes {configs} again for each value of {described(worst)}: `{name}` is in its autotune "
            "key" + (f", as {'are' if len(others) > 1 else 'is'} {', '.join(others)}" if others else "")
        ),
        advice=(
            f"take `{name}` out of the key; where the best config depends on it, add a parameter for the key alone, "
            f"and pass `triton.next_power_of_2({name})` as that"
        ),
        facts=facts(parameter, worst),
        trail=trail(parameter, worst),
    )


def _severity(worst: Source) -> Severity:
    if worst.for_tests:
        return Severity.INFO
    return Severity.ERROR if worst.scalar.from_data else Severity.WARNING

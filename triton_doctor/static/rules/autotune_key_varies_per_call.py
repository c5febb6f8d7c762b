"""TRD301: an autotune key that follows the data, so that each new value tunes the configs again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity
from triton_doctor.static.project.configs import tell_configs
from triton_doctor.static.project.launches import origin_of
from triton_doctor.static.python.ir import Apply, Attr, Call, Const, Name
from triton_doctor.static.variability.description import facts, tell_value, trail
from triton_doctor.static.variability.tuning import AUTOTUNE_KEY, join_words, varying_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.parameters import Parameter, Source

CODE = AUTOTUNE_KEY
# `n // 32` is one key for 32 values of `n`.
_COARSE = 16


def check(project: Project) -> Iterator[Finding]:
    """One finding a kernel, at the name of its key that changes most often; a plain argument before a constexpr.

    Where TRD201 reports the name too, this becomes part of that finding: see `fold_tuning`.
    """
    for varying in varying_keys(project).values():
        sources = [(parameter, worst) for parameter in varying if (worst := parameter.worst) is not None]
        yield _finding(project, sources)


def _finding(project: Project, varying: Sequence[tuple[Parameter, Source]]) -> Finding:
    parameter, worst = min(
        varying, key=lambda one: (one[0].param.is_constexpr, not one[1].scalar.from_data, one[1].path, one[1].span)
    )
    kernel, name = parameter.kernel, parameter.param.name
    others = [f"`{other.param.name}`" for other, _ in varying if other is not parameter]
    also = f"; {join_words(others)} in the key {'change' if len(others) > 1 else 'changes'} too" if others else ""
    return Finding(
        path=worst.path,
        span=worst.span,
        code=CODE,
        severity=_severity(worst),
        message=(
            f"`{kernel.name}` autotunes {tell_configs(project, kernel)} again for each value of {tell_value(worst)}: "
            f"`{name}` is in its autotune key{also}"
        ),
        advice=(
            f"take `{name}` out of the key; where the best config depends on it, add a parameter for the key alone, "
            f"and pass `triton.next_power_of_2({name})` as that"
        ),
        facts=facts(parameter, worst, autotune_keys=tuple(other.param.name for other, _ in varying)),
        trail=trail(parameter, worst),
    )


def _severity(worst: Source) -> Severity:
    if worst.for_tests or (worst.expr is not None and _is_coarse(origin_of(worst.launch, worst.expr))):
        return Severity.INFO
    return Severity.ERROR if worst.scalar.from_data else Severity.WARNING


def _is_coarse(expr: Expr) -> bool:
    """Whether the author of the launch rounds the value for the key: `n // 32`, `cdiv(n, 128) * 128`."""
    match expr:
        case Apply("*", (inner, Const(int()))):
            return _is_coarse(inner)
        case Apply("//", (_, Const(int(divisor)))):
            return divisor >= _COARSE
        case Call(Attr(_, "cdiv") | Name("cdiv"), (_, Const(int(divisor))), ()):
            return divisor >= _COARSE
        case _:
            return False

"""TRD301: an autotune key that follows the data, so that each new value tunes the configs again.

The fix removes the names from the key if a program of the kernel does the same work for all values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity
from triton_doctor.phrases import join_words
from triton_doctor.plan import DropListed, Plan, Safety
from triton_doctor.static.project.calls.parameter_lookups import find_pruner
from triton_doctor.static.project.calls.surroundings import changed, kernel_of
from triton_doctor.static.project.launches.launches import origin_of
from triton_doctor.static.python.ir import Attr, BinaryOp, Call, Const, Name
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.companions import describe_companions, spare_keys
from triton_doctor.static.variability.queries.configs import AUTOTUNE_KEY, describe_configs, varying_keys
from triton_doctor.static.variability.queries.description import describe_value, facts, trail
from triton_doctor.static.variability.queries.idle_code import describe_idle_reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.queries.parameters import Parameter, ParameterSource

CODE = AUTOTUNE_KEY
# `n // 32` is the same key for 32 values of `n`.
_COARSE = 16


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each kernel, at the name of its key that changes most often.

    Plain arguments before constexprs. A name by which a pruner chooses configs comes last: the key needs it, since
    values in one bucket would share configs. If TRD201 reports the name too, this becomes part of that finding: see
    `fold_tuning`.
    """
    for varying in varying_keys(project).values():
        sources = [(parameter, worst) for parameter in varying if (worst := parameter.worst) is not None]
        yield _finding(project, sources)


def _finding(project: Project, varying: Sequence[tuple[Parameter, ParameterSource]]) -> Finding:
    parameter, worst = min(
        varying,
        key=lambda pair: (
            find_pruner(project, pair[0].kernel, pair[0].param.name) is not None,
            pair[0].param.is_constexpr,
            not pair[1].number.from_data,
            pair[1].path,
            pair[1].span,
        ),
    )
    kernel, name = parameter.kernel, parameter.param.name
    pruner = find_pruner(project, kernel, name)
    chosen = f"; `{pruner.name}` chooses configs by `{name}`" if pruner is not None else ""
    others = [f"`{other.param.name}`" for other, _ in varying if other is not parameter]
    also = f"; {join_words(others)} in the key {'change' if len(others) > 1 else 'changes'} too" if others else ""
    names = tuple(other.param.name for other, _ in varying)
    also += describe_companions(project, parameter, named=names)
    idle_reason = worst.idle_reason
    return Finding(
        path=worst.path,
        span=worst.span,
        code=CODE,
        severity=Severity.INFO if idle_reason or (pruner is not None and pruner.fails) else _severity(worst),
        message=(
            f"`{kernel.name}` autotunes {describe_configs(project, kernel)} "
            f"again for each value of {describe_value(worst)}: "
            f"`{name}` is in its autotune key{also}{chosen}{describe_idle_reason(idle_reason)}"
        ),
        advice=_advice(project, parameter) if pruner is None else None,
        facts=facts(parameter, worst, autotune_keys=names),
        trail=trail(parameter, worst),
    )


def _advice(project: Project, parameter: Parameter) -> str:
    name = parameter.param.name
    together = [f"`{name}`", *(f"`{spare_key}`" for spare_key in spare_keys(project, parameter))]
    which = "it" if len(together) == 1 else "them"
    return (
        f"take {join_words(together)} out of the key; where the best config depends on {which}, add a parameter for "
        f"the key alone, and pass `triton.next_power_of_2({name})` as that"
    )


def _severity(worst: ParameterSource) -> Severity:
    if worst.expr is not None and _is_coarse(origin_of(worst.launch, worst.expr)):
        return Severity.INFO
    return Severity.ERROR if worst.number.from_data and not worst.number.hints else Severity.WARNING


def _is_coarse(expr: Expr) -> bool:
    """Return whether the author of the launch rounds the value for the key: `n // 32`, `cdiv(n, 128) * 128`."""
    match expr:
        case BinaryOp("*", (inner, Const(int()))):
            return _is_coarse(inner)
        case BinaryOp("//", (_, Const(int(divisor)))):
            return divisor >= _COARSE
        case Call(Attr(_, "cdiv") | Name("cdiv"), (_, Const(int(divisor))), ()):
            return divisor >= _COARSE
        case _:
            return False


def plan(project: Project, finding: Finding) -> Plan | None:
    """Return an unsafe plan: one config for all values may be slower for some, with the same results.

    None if a loop's length depends on a name, or the kernel needs one at compile time: the best config may depend on
    it. None for a kernel with several tuners.
    """
    kernel = kernel_of(project, finding)
    tuned = kernel.autotune if kernel is not None else None
    if kernel is None or tuned is None or tuned.by.rpartition(".")[2] != "autotune" or tuned.prunes:
        return None
    if sum(name.rpartition(".")[2] == "autotune" for name in kernel.decorators) > 1:
        return None  # an edit of one tuner is half of the remedy
    names = finding.facts.autotune_keys
    if not names or any(name in kernel.uses.needed or name in kernel.uses.walked for name in names):
        return None
    if any(name in (passed for _, _, passed in kernel.uses.passes) for name in names):
        return None
    return Plan(
        safety=Safety.UNSAFE,
        title=f"take {', '.join(f'`{name}`' for name in names)} out of the autotune key of `{kernel.name}`",
        changes=tuple(DropListed(kernel.path, tuned.span, "key", name, keep=True) for name in names),
        kernel=changed(kernel),
    )


RULE = Rule(code=CODE, check=check, plan=plan)

"""TRD202: a constexpr that the kernel never reads, and that is part of its key all the same.

The fix removes the parameter from the kernel, and the argument from every launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity
from triton_doctor.plan import Change, DropArgument, DropListed, DropParameter, Plan, Safety
from triton_doctor.static.project.calls.parameter_lookups import (
    is_looked_up,
    is_looked_up_as_constexpr,
    is_taken_by_name,
)
from triton_doctor.static.project.calls.surroundings import (
    changed,
    is_public,
    is_seen_whole,
    launches,
    subject,
)
from triton_doctor.static.project.launches.launches import launches_of, spelled_out
from triton_doctor.static.python.ir import Attr, Call, Expr, Name, Opaque, every_part
from triton_doctor.static.rules.registry import Rule
from triton_doctor.static.variability.queries.companions import advise_companions, describe_companions
from triton_doctor.static.variability.queries.description import describe_value, facts, trail
from triton_doctor.static.variability.queries.idle_code import describe_idle_reason
from triton_doctor.static.variability.queries.parameters import Parameter, parameters
from triton_doctor.static.variability.values.lattice import Variability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Kernel

CODE = "TRD202"
# Functions without side effects: a removed argument must have none.
_WITHOUT_EFFECT = frozenset(
    "len int bool min max cdiv next_power_of_2 numel nelement size stride dim element_size is_contiguous".split()
)


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each parameter of a launched kernel: at the launch that changes it most often, or at the
    parameter. One that decorators take by name can only lose its annotation, which pays if it varies.
    """
    launches = launches_of(project)
    for parameter in parameters(project):
        if parameter.kernel.key in launches and parameter.param.is_constexpr and parameter.use == "unread":
            found = _finding(project, parameter)
            if found is not None:
                yield found


def _finding(project: Project, parameter: Parameter) -> Finding | None:
    kernel, param, worst = parameter.kernel, parameter.param, parameter.worst
    varies = worst is not None and worst.kind is Variability.PER_CALL
    advice = f"remove `{param.name}` from `{kernel.name}` and from its launches"
    if kernel.may_set(param.name) or is_looked_up_as_constexpr(project, kernel, param.name):
        advice += ", and from its decorators where they name it"
    elif is_taken_by_name(project, kernel, param.name):
        if not varies:
            return None
        advice = (
            f"drop the `tl.constexpr` annotation of `{param.name}`: `{kernel.name}` needs no constexpr, but its "
            "decorators or its grid may take the argument by name, so it has to stay a parameter"
        )
    if worst is None or worst.kind is not Variability.PER_CALL:
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
        severity=Severity.INFO if worst.idle_reason else Severity.WARNING,
        message=(
            f"`{kernel.name}` never reads its constexpr `{param.name}`, but recompiles for each value of "
            f"{describe_value(worst)}{describe_companions(project, parameter)}{describe_idle_reason(worst.idle_reason)}"
        ),
        advice=advice + advise_companions(project, parameter),
        facts=facts(parameter, worst),
        trail=trail(parameter, worst),
    )


def plan(project: Project, finding: Finding) -> Plan | None:
    """Return a plan; None if some use of the kernel is unknown, or something looks `param` up by name."""
    found = subject(project, finding)
    if found is None:
        return None
    kernel, param = found
    if not kernel.has_own_decorators or not is_seen_whole(project, kernel) or _is_looked_up(kernel):
        return None
    if kernel.may_set(param.name):
        return None
    if is_looked_up(project, kernel, param.name):
        return None
    changes: list[Change] = [DropParameter(kernel.path, param.span)]
    for option, names in (
        ("do_not_specialize", kernel.do_not_specialize),
        ("do_not_specialize_on_alignment", kernel.do_not_align),
    ):
        if param.name in names and kernel.jit_span is not None:
            changes.append(DropListed(kernel.path, kernel.jit_span, option, param.name))
    safety = Safety.UNSAFE if is_public(project, kernel) else Safety.SAFE
    for launch in launches(project, kernel):
        argument = spelled_out(launch, kernel).get(param.name)
        if argument is None:
            if param.default is None:
                return None
            continue
        changes.append(DropArgument(launch.module.path, launch.launch.span, argument.span))
        if _has_effect(argument.value):
            safety = Safety.UNSAFE
    return Plan(
        safety=safety,
        title=f"take `{param.name}` out of `{kernel.name}` and of its launches",
        changes=tuple(changes),
        kernel=changed(kernel, param.name),
        rests_on=kernel.path,
    )


def _is_looked_up(kernel: Kernel) -> bool:
    """Return whether an unknown function may look up the argument by name."""
    tuned = kernel.autotune
    return kernel.heuristics_out_of_sight or (tuned is not None and (tuned.prunes or tuned.sets is None))


def _has_effect(expr: Expr) -> bool:
    for part in every_part(expr):
        match part:
            case Call(Name(name) | Attr(_, name)) if name in _WITHOUT_EFFECT:
                pass
            case Call() | Opaque():
                return True
            case _:
                pass
    return False


RULE = Rule(code=CODE, check=check, plan=plan)

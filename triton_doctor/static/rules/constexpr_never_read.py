"""TRD202: a parameter that the kernel never reads, and that is part of its key all the same.

The fix removes the parameter from the kernel, and the argument from every launch.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity
from triton_doctor.plan import Change, DropArgument, DropListed, DropParameter, Plan, Safety
from triton_doctor.static.project.calls.parameter_lookups import (
    is_looked_up,
    is_looked_up_as_constexpr,
    is_taken_by_name,
)
from triton_doctor.static.project.calls.surroundings import (
    are_spelled_out,
    changed,
    is_public,
    launch_starts,
    launches,
    subject,
)
from triton_doctor.static.project.launches.launches import launches_of, spelled_out
from triton_doctor.static.python.ir import Const, Name
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.rules import Rule
from triton_doctor.static.sources.source_text import TextPattern
from triton_doctor.static.variability.queries.companions import advise_companions, describe_companions
from triton_doctor.static.variability.queries.description import describe_value, facts, trail
from triton_doctor.static.variability.queries.idle_code import describe_idle_reason
from triton_doctor.static.variability.queries.parameters import (
    Parameter,
    Parameters,
    in_autotune_key,
    parameters,
)
from triton_doctor.static.variability.values.lattice import Variability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Kernel, Param

CODE = "TRD202"
# After these, a name that is assigned in the text may have no value all the same.
_ALONE = re.compile(rb"(?<!\w)"), re.compile(rb"(?!\w)")
_MAY_UNBIND = [TextPattern(":="), *(TextPattern(word, *_ALONE) for word in ("del", "try", "with", "match"))]


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each parameter of a launched kernel: at the launch that changes it most, or the parameter.

    One that decorators take by name can only lose its annotation, which pays if it varies.
    """
    every = Parameters(project)
    plain = (parameter for kernel in project.kernels() for parameter in every.of(kernel, _may_specialize))
    for parameter in (*parameters(project), *plain):
        if parameter.use == "unread" and parameter.kernel.key in launches_of(project):
            found = _finding(project, parameter)
            if found is not None:
                yield found


def _may_specialize(kernel: Kernel, param: Param) -> bool:
    """Return whether Triton may compile by the value of a plain argument that the body does not name."""
    is_listed = param.name in kernel.do_not_specialize or in_autotune_key(kernel, param)
    return not (param.is_constexpr or is_listed or param.name in kernel.uses.read or kernel.may_set(param.name))


def _finding(project: Project, parameter: Parameter) -> Finding | None:
    kernel, param, worst = parameter.kernel, parameter.param, parameter.worst
    varies = worst is not None and worst.kind is Variability.PER_CALL
    advice = f"remove `{param.name}` from `{kernel.name}` and from its launches"
    if kernel.may_set(param.name) or is_looked_up_as_constexpr(project, kernel, param.name):
        advice += ", and from its decorators where they name it"
    elif is_taken_by_name(project, kernel, param.name):
        if not varies or not param.is_constexpr:
            return None
        advice = (
            f"drop the `tl.constexpr` annotation of `{param.name}`: `{kernel.name}` needs no constexpr, but its "
            "decorators or its grid may take the argument by name, so it has to stay a parameter"
        )
    what, each = "its constexpr ", "recompiles for each value"
    if not param.is_constexpr:
        is_integer = all(source.number.is_integer for source in parameter.sources)
        if worst is None or worst.kind is Variability.FIXED or not is_integer:
            return None
        what, each = "", "Triton compiles separate variants for 1, multiples of 16 and other values"
    elif worst is None or worst.kind is not Variability.PER_CALL:
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
        severity=Severity.INFO if worst.idle_reason or not param.is_constexpr else Severity.WARNING,
        message=(
            f"`{kernel.name}` never reads {what}`{param.name}`, but {each} of {describe_value(worst)}"
            f"{describe_companions(project, parameter)}{describe_idle_reason(worst.idle_reason)}"
        ),
        advice=advice + advise_companions(project, parameter),
        facts=facts(parameter, worst),
        trail=trail(parameter, worst),
    )


def plan(project: Project, finding: Finding) -> Plan | None:
    """Return a plan; None if a launch hides its arguments, or something looks `param` up by name."""
    found = subject(project, finding)
    if found is None:
        return None
    kernel, param = found
    if not kernel.has_own_decorators or not are_spelled_out(project, kernel) or _is_looked_up(kernel):
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
    is_plain = param.default is None or isinstance(param.default, Const)
    safety = Safety.SAFE if is_plain and not is_public(project, kernel) else Safety.UNSAFE
    for launch in launches(project, kernel):
        argument = spelled_out(launch, kernel).get(param.name)
        if argument is None:
            if param.default is None:
                return None
            continue
        changes.append(DropArgument(launch.module.path, launch.launch.span, argument.span))
        if not _is_without_effect(launch, argument.value):
            safety = Safety.UNSAFE
    return Plan(
        safety=safety,
        title=f"take `{param.name}` out of `{kernel.name}` and of its launches",
        changes=tuple(changes),
        kernel=changed(kernel, param.name),
        launches=launch_starts(project, kernel),
    )


def _is_looked_up(kernel: Kernel) -> bool:
    """Return whether an unknown function may look up the argument by name."""
    tuned = kernel.autotune
    return kernel.heuristics_out_of_sight or (tuned is not None and (tuned.prunes or tuned.sets is None))


def _is_without_effect(launch: LinkedLaunch, expr: Expr) -> bool:
    """Return whether `expr`, evaluated at `launch`, certainly does nothing: it is a literal or a name that is bound."""
    if isinstance(expr, Const):
        return True
    if not isinstance(expr, Name):
        return False  # to read an attribute or an item may run code, or raise
    function = launch.function
    if any(map(function.matches, _MAY_UNBIND)):
        return False
    if function.param(expr.id) is not None:
        return True
    return reaching_definitions(function, expr.id, launch.launch.order, launch.launch.arms).certain


RULE = Rule(code=CODE, check=check, plan=plan)

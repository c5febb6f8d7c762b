"""TRD204: `do_not_specialize` names a constexpr, or no parameter at all.

The fix removes the name from the list; Triton ignores it, or refuses to compile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Location, Severity
from triton_doctor.plan import DropListed, Plan, Safety
from triton_doctor.static.project.calls.surroundings import changed, kernel_of, launch_starts, pointers
from triton_doctor.static.project.launches.launches import is_expected_to_fail, launches_of
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of
from triton_doctor.static.variability.queries.parameter_uses import ParameterUses
from triton_doctor.static.variability.queries.parameters import parameters
from triton_doctor.static.variability.values.lattice import Variability
from triton_doctor.variables import Version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Kernel


CODE = "TRD204"
# Unrelated names share two of three letters; `n_rows` and `nrows` have the similarity .91.
_LIKE = 0.8
# The last release line known to compile a listed constexpr: triton 3.6 compiler/code_generator.py:644 rejects it.
_COMPILES = Version(3, 4)


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each name, at the decorator."""
    for kernel in project.kernels():
        if not kernel.params:
            continue  # a stub: the real function has them
        if (kernel.do_not_specialize or kernel.do_not_align) and is_expected_to_fail(project, kernel):
            continue
        params = {param.name: param for param in kernel.params}
        for option, names in (
            ("do_not_specialize", kernel.do_not_specialize),
            ("do_not_specialize_on_alignment", kernel.do_not_align),
        ):
            for name in dict.fromkeys(names):
                if name not in params:
                    yield _unknown(project, kernel, option, name)
                elif params[name].is_constexpr:
                    yield _constexpr(project, kernel, option, name)


def _constexpr(project: Project, kernel: Kernel, option: str, name: str) -> Finding:
    pinned = project.pinned_triton
    severity = Severity.ERROR
    what = "Triton 3.6 and newer do not compile the kernel, 3.4 and older still compile it for each value"
    if pinned is not None and pinned <= _COMPILES:
        severity = Severity.WARNING
        what = (
            f"Triton {pinned}, which the project pins, still compiles the kernel for each value, 3.6 and newer do not"
        )
        if not _changes(project, kernel, name):
            severity = Severity.INFO
            what += "; no launch is known to change the value"
    return Finding(
        path=kernel.path,
        span=kernel.jit_span or kernel.span,
        code=CODE,
        severity=severity,
        message=f"`{option}` of `{kernel.name}` names the constexpr `{name}`: {what}",
        advice=_advice(project, kernel, name),
        facts=_facts(kernel, option, name),
    )


def _changes(project: Project, kernel: Kernel, name: str) -> bool:
    """Return whether launches in programs give the parameter `name` another value on each call."""
    worst = next(
        parameter.worst
        for parameter in parameters(project)
        if parameter.kernel.key == kernel.key and parameter.param.name == name
    )
    return worst is not None and worst.kind is Variability.PER_CALL and not worst.idle_reason


def _advice(project: Project, kernel: Kernel, name: str) -> str:
    """Without its annotation, the kernel compiles only if it does not need the value at compile time."""
    if ParameterUses(project, launches_of(project)).need(kernel, name) is not None:
        return f"remove `{name}` from the list: the kernel needs its value while it compiles"
    return f"drop the `tl.constexpr` annotation of `{name}`, or remove it from the list"


def _unknown(project: Project, kernel: Kernel, option: str, name: str) -> Finding:
    meant = meant_by(kernel, name)
    is_position = name.lstrip("-").isdecimal()
    named = f"position {name}" if is_position else f"`{name}`"
    # A leftover name costs nothing; a misspelled one leaves another parameter specialized.
    is_meant = bool(meant) or is_position or len(_numbers_left(project, kernel)) == 1
    severity = (
        Severity.WARNING if is_meant and not interpreter_of(project).call_graph.is_shown(kernel) else Severity.INFO
    )
    return Finding(
        path=kernel.path,
        span=kernel.jit_span or kernel.span,
        code=CODE,
        severity=severity,
        message=f"`{option}` names {named}, but `{kernel.name}` has no such parameter: Triton ignores it",
        advice=f"did you mean {' or '.join(f'`{suggestion}`' for suggestion in meant)}?"
        if meant
        else f"the parameters are {', '.join(f'`{param.name}`' for param in kernel.params)}",
        facts=_facts(kernel, option, name),
    )


def _numbers_left(project: Project, kernel: Kernel) -> list[str]:
    """Return the parameters that are not listed, no constexprs and no pointers."""
    listed = {*kernel.do_not_specialize, *kernel.do_not_align, *pointers(project, kernel)}
    return [param.name for param in kernel.params if not param.is_constexpr and param.name not in listed]


def meant_by(kernel: Kernel, name: str) -> tuple[str, ...]:
    """Return the parameters that `name`, which is none, may misspell: `T` for `T_tmp`.

    Not those already listed, and no constexprs, which do not belong there.
    """
    listed = {*kernel.do_not_specialize, *kernel.do_not_align}
    free = [param.name for param in kernel.params if not param.is_constexpr and param.name not in listed]
    short = name.casefold()
    part = [
        name
        for name in free
        if name.casefold() == short or name.casefold().startswith(f"{short}_") or name.casefold().endswith(f"_{short}")
    ]
    if part:
        return tuple(part)
    from difflib import get_close_matches

    return tuple(get_close_matches(name, free, n=1, cutoff=_LIKE))


def _facts(kernel: Kernel, option: str, name: str) -> Facts:
    location = next((Location(kernel.path, param.span.line) for param in kernel.params if param.name == name), None)
    return Facts(
        kernel=kernel.name,
        kernel_location=Location(kernel.path, kernel.line),
        parameter=name,
        parameter_location=location,
        word=option,
    )


def plan(project: Project, finding: Finding) -> Plan | None:
    """Return a safe plan, since the kernel compiles as before; None if the name misspells a parameter."""
    kernel, name = kernel_of(project, finding), finding.facts.parameter
    option = finding.facts.word
    if kernel is None or kernel.jit_span is None or name is None or option is None:
        return None
    names = [param.name for param in kernel.params]
    if name not in names and meant_by(kernel, name):
        return None
    position = names.index(name) if name in names else int(name) if name.lstrip("-").isdecimal() else None
    return Plan(
        safety=Safety.SAFE,
        title=f"take `{name}` out of `{option}` of `{kernel.name}`",
        changes=(DropListed(kernel.path, kernel.jit_span, option, name, position),),
        kernel=changed(kernel),
        launches=launch_starts(project, kernel),
    )


RULE = Rule(code=CODE, check=check, plan=plan)

"""TRD201: a plain argument where the kernel does with one, a bucket where it needs the value while it compiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.plan import AddListed, Change, DropAnnotation, Plan, Replace, Safety
from triton_doctor.static.project.launches import hides_arguments, spelled_out
from triton_doctor.static.project.parameter_lookups import is_asked_for_as_constexpr
from triton_doctor.static.project.surroundings import (
    changed,
    has_own_decorators,
    is_in_sight,
    is_seen_whole,
    launches,
    set_by_configs,
    subject,
)
from triton_doctor.static.python.ir import Const, Lambda, Name
from triton_doctor.static.python.spared_parameters import spared
from triton_doctor.static.variability.integers import is_whole
from triton_doctor.static.variability.lattice import Kind

if TYPE_CHECKING:
    from triton_doctor.finding import Finding
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Kernel, Param


def plan(project: Project, finding: Finding) -> Plan | None:
    """Drop the annotation, or round the argument up at its launches; None where a config or a heuristic sets it."""
    found = subject(project, finding)
    if found is None or _is_set_by_triton(*found):
        return None
    kernel, param = found
    if finding.facts.use == "read":
        changes: list[Change] = [DropAnnotation(kernel.path, param.span)]
        how = "a plain argument"
        body = spared(kernel, project.modules.source(kernel.path))
        if param.name in body.steering and kernel.jit_span is not None and param.name not in kernel.do_not_specialize:
            changes.append(AddListed(kernel.path, kernel.jit_span, "do_not_specialize", param.name))
            how += ", and not specialize on it"
        return Plan(
            safety=_safety(project, kernel, param) if param.name in body.plain else Safety.UNSAFE,
            title=f"make `{param.name}` of `{kernel.name}` {how}",
            changes=tuple(changes),
            kernel=changed(kernel, param.name),
            rests_on=kernel.path,
            unseen=Safety.UNSAFE,
        )
    if finding.facts.variability == Kind.PER_CALL.label and _sizes_a_block(kernel, param):
        return _bucket(project, finding, kernel, param)
    return None


def _is_set_by_triton(kernel: Kernel, param: Param) -> bool:
    by_config = set_by_configs(kernel)
    return (
        by_config is None
        or param.name in by_config
        or any(heuristic.param in (param.name, "*") for heuristic in kernel.heuristics)
    )


def _safety(project: Project, kernel: Kernel, param: Param) -> Safety:
    """SAFE where each launch is in sight and gives an integer."""
    if not has_own_decorators(kernel) or not is_in_sight(project, kernel):
        return Safety.UNSAFE
    if param.default is not None and not (isinstance(param.default, Const) and type(param.default.value) is int):
        return Safety.UNSAFE
    if any(not isinstance(heuristic.value, Lambda) for heuristic in kernel.heuristics):
        return Safety.UNSAFE
    if is_asked_for_as_constexpr(project, kernel, param.name):
        return Safety.UNSAFE
    for launch in launches(project, kernel):
        argument = spelled_out(launch, kernel).get(param.name)
        if argument is not None and not is_whole(project, launch, argument.value):
            return Safety.UNSAFE
        if launch.launch.method is not None or (argument is None and (hides_arguments(launch) or not param.default)):
            return Safety.UNSAFE
    return Safety.SAFE


def _sizes_a_block(kernel: Kernel, param: Param) -> bool:
    """Whether it is the end of an `arange`, which takes powers of two only, and the kernel reads it nowhere else."""
    return param.name in kernel.blocks_only and any(arange.end == Name(param.name) for arange in kernel.aranges)


def _bucket(project: Project, finding: Finding, kernel: Kernel, param: Param) -> Plan | None:
    """Round up at each launch that can be seen, where another parameter gets the exact size to mask with."""
    if not is_seen_whole(project, kernel):
        return None
    changes: list[Change] = []
    for launch in launches(project, kernel):
        given = spelled_out(launch, kernel)
        argument = given.get(param.name)
        imported = launch.module.imports.get("triton")
        if argument is None or isinstance(argument.value, Const):
            continue
        if imported is None or imported.member is not None or imported.module != "triton":
            return None
        if not any(one is not argument and one.value == argument.value for one in given.values()):
            return None
        before = f"{argument.name}=" if argument.name is not None else ""
        text = f"{before}triton.next_power_of_2({{}})"
        changes.append(Replace(launch.module.path, launch.launch.span, argument.span, text))
    return Plan(
        safety=Safety.UNSAFE,
        title=f"round `{param.name}` of `{kernel.name}` up to a power of two",
        changes=tuple(changes),
        rests_on=kernel.path,
    )

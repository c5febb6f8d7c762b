"""TRD211: the option by its name, which sets the kernel's parameter and the launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.plan import Change, NameArgument, Plan, Safety
from triton_doctor.static.project.launches import hides_arguments, spelled_out
from triton_doctor.static.project.surroundings import launches, subject
from triton_doctor.static.python.ir import Star

if TYPE_CHECKING:
    from triton_doctor.finding import Finding
    from triton_doctor.static.project.project import Project


def plan(project: Project, finding: Finding) -> Plan | None:
    """Name it and the positional arguments after it; None where the value is a default, or stands in a config."""
    found = subject(project, finding)
    if found is None:
        return None
    kernel, param = found
    for launch in launches(project, kernel):
        here = (launch.module.path, launch.launch.span) == (finding.path, finding.facts.launch)
        if not here or len(launch.kernels) != 1 or hides_arguments(launch):
            continue
        names = {id(one): name for name, one in spelled_out(launch, kernel).items()}
        changes: list[Change] = []
        for argument in launch.launch.arguments:
            name = names.get(id(argument))
            if argument.name is None and name is not None and (changes or name == param.name):
                changes.append(NameArgument(launch.module.path, launch.launch.span, argument.span, name))
            elif isinstance(argument.value, Star):
                return None
        if changes:
            return Plan(
                safety=Safety.UNSAFE,
                title=f"give `{param.name}` of `{kernel.name}` by name",
                changes=tuple(changes),
            )
    return None

"""TRD204: the name goes out of the list; Triton took no notice of it, or refused to compile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.plan import DropListed, Plan, Safety
from triton_doctor.static.project.surroundings import changed, kernel_of
from triton_doctor.static.rules.constexpr_in_do_not_specialize import meant_by

if TYPE_CHECKING:
    from triton_doctor.finding import Finding
    from triton_doctor.static.project.project import Project


def plan(project: Project, finding: Finding) -> Plan | None:
    """Safe, as the kernel compiles as it did; None where a parameter was meant that is spelled otherwise."""
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
    )

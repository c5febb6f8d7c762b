"""TRD301: the names go out of the key where a program of the kernel does the same work whatever they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.plan import DropListed, Plan, Safety
from triton_doctor.static.project.surroundings import changed, kernel_of

if TYPE_CHECKING:
    from triton_doctor.finding import Finding
    from triton_doctor.static.project.project import Project


def plan(project: Project, finding: Finding) -> Plan | None:
    """Unsafe: one config for all values may be slower for some, though results stay.

    None where a loop runs to one, or the kernel needs one while it compiles: the best config may depend on it.
    """
    kernel = kernel_of(project, finding)
    tuned = kernel.autotune if kernel is not None else None
    if kernel is None or tuned is None or tuned.by.rpartition(".")[2] != "autotune" or tuned.prunes:
        return None
    names = finding.facts.autotune_keys
    if not names or any(name in kernel.needed or name in kernel.walked for name in names):
        return None
    if any(name in (passed for _, _, passed in kernel.passes) for name in names):
        return None
    return Plan(
        safety=Safety.UNSAFE,
        title=f"take {', '.join(f'`{name}`' for name in names)} out of the autotune key of `{kernel.name}`",
        changes=tuple(DropListed(kernel.path, tuned.span, "key", name, keep=True) for name in names),
        kernel=changed(kernel),
    )

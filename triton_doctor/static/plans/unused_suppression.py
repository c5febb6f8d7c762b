"""TRD901: the code goes out of the comment, and the comment with its last code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.plan import DropDirective, Plan, Safety

if TYPE_CHECKING:
    from triton_doctor.finding import Finding
    from triton_doctor.static.model import Project


def plan(project: Project, finding: Finding) -> Plan | None:
    """Safe, in Python files; None for a comment that is not understood."""
    code = finding.facts.word
    if code is None or not finding.path.endswith(".py"):
        return None
    return Plan(
        finding=finding,
        safety=Safety.SAFE,
        title=f"delete `{code}` from the comment",
        changes=(DropDirective(finding.path, finding.span, code),),
    )

"""TRD104: the variable that was surely meant, or the one that took the place of an old one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.plan import Plan, RenameString, Safety
from triton_doctor.variables import INTERPRET, meant, parse_version, variables

if TYPE_CHECKING:
    from triton_doctor.finding import Finding
    from triton_doctor.static.project.project import Project


def plan(project: Project, finding: Finding) -> Plan | None:
    """Unsafe: the variable has an effect from now on. None where that effect would be reported in its turn."""
    for file in project.environment:
        if file.path != finding.path or file.kind != "python":
            continue
        for setting in file.settings:
            if setting.span == finding.span:
                name = _intended(setting.variable)
                known = variables().get(name or "")
                if name is None or known is None or not known.read_by(parse_version(project.triton_version)):
                    continue
                if setting.value is None or known.harmful(setting.value) or name == INTERPRET:
                    continue
                return Plan(
                    safety=Safety.UNSAFE,
                    title=f"set `{name}` instead of `{setting.variable}`",
                    changes=(RenameString(file.path, setting.span, setting.variable, name),),
                )
    return None


def _intended(name: str) -> str | None:
    known = variables().get(name)
    if known is not None:
        return known.instead or None
    near = meant(name)
    return near[0] if near is not None and near[1] else None

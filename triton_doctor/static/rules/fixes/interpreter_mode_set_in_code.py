"""TRD101: the setting goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Severity
from triton_doctor.plan import DropStatement, Plan, Safety

if TYPE_CHECKING:
    from triton_doctor.finding import Finding
    from triton_doctor.static.project.project import Project

# Forms that are a statement of their own.
_WHOLE_STATEMENTS = ("os.environ", "os.environ.setdefault", "os.environ.__setitem__", "os.putenv")


def plan(project: Project, finding: Finding) -> Plan | None:
    """Safe at the top of a file that puts tensors on a GPU; None where the setting is part of something larger."""
    for file in project.environment:
        if file.path != finding.path or file.kind != "python":
            continue
        here = [setting for setting in file.settings if setting.span == finding.span]
        for setting in here if len(here) == 1 else ():
            if setting.how in _WHOLE_STATEMENTS or setting.how.startswith("triton.knobs."):
                on_gpu = file.names_gpu and setting.function is None and finding.severity is not Severity.INFO
                return Plan(
                    safety=Safety.SAFE if on_gpu else Safety.UNSAFE,
                    title=f"delete the setting of `{setting.variable}`",
                    changes=(DropStatement(file.path, setting.span, setting.variable),),
                )
    return None

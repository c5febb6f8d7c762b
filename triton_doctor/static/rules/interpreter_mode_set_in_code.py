"""TRD101: Python code, or a notebook, that turns interpreter mode on.

The fix removes the setting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity
from triton_doctor.plan import DropStatement, Plan, Safety
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.timed_regions import (
    CODE_KINDS,
    comes_too_late,
    describe_kept_tuning,
    settings_that_interpret,
    severity_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.environment.setting import EnvSetting
    from triton_doctor.static.project.project import Project

CODE = "TRD101"
# Forms that are a whole statement.
_WHOLE_STATEMENTS = ("os.environ", "os.environ.setdefault", "os.environ.__setitem__", "os.putenv")


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each setting; none behind a flag, and none that comes too late to matter: that is TRD103."""
    for file, setting in settings_that_interpret(project):
        if file.kind not in CODE_KINDS or setting.guarded or comes_too_late(setting):
            continue
        # it teaches Triton without a GPU, unless it measures
        is_shown = file.kind == "notebook" or (file.path in project.demonstrations and not file.timings)
        yield Finding(
            path=file.path,
            span=setting.span,
            code=CODE,
            severity=Severity.INFO if file.cpu_only or is_shown else severity_of(project, file, setting),
            message=_message(setting) + describe_kept_tuning(project),
            advice="delete the line, and set the variable in the shell for the one run that needs it",
        )


def _message(setting: EnvSetting) -> str:
    whose = "every kernel" if setting.own_process else "every kernel of the process that inherits it"
    spelled = setting.how if setting.how.startswith("triton.knobs") else f"{setting.variable}={setting.value}"
    return f"`{spelled}` runs {whose} in Python on the CPU: 600 to 16,000 times slower than compiled"


def plan(project: Project, finding: Finding) -> Plan | None:
    """Return a plan, safe at the top of a file that puts tensors on a GPU.

    None if the setting is part of something larger.
    """
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


RULE = Rule(code=CODE, check=check, plan=plan)

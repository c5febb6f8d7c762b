"""TRD106: a cache folder that does not outlive a process, job or container, so that everything compiles again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity
from triton_doctor.static.rules.registry import Rule
from triton_doctor.variables import CACHE_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project


CODE = "TRD106"


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each setting; info if something outside the file may keep the folder."""
    for file in project.environment:
        for setting in file.settings:
            if setting.variable not in CACHE_FOLDERS or setting.fleeting is None or setting.guarded:
                continue
            worst = Severity.WARNING if setting.fleeting.certain else Severity.INFO
            yield Finding(
                path=file.path,
                span=setting.span,
                code=CODE,
                severity=Severity.INFO if file.for_tests else worst,
                message=f"compiled kernels are not kept: `{setting.variable}` is {setting.fleeting.why}",
                advice="use a folder that persists: on a volume, or under the user's cache folder",
            )


RULE = Rule(code=CODE, check=check)

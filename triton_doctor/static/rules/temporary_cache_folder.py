"""TRD106: a cache folder that does not outlive a process, job or container, so that everything compiles again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.timed_regions import CODE_KINDS
from triton_doctor.variables import CACHE_FOLDERS, TAKES_EMPTY, parse_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.environment.setting import EnvironmentFile, EnvSetting
    from triton_doctor.static.project.project import Project
    from triton_doctor.variables import Version

CODE = "TRD106"


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each setting; info if something outside the file may keep the folder."""
    version = parse_version(project.triton_version)
    for file in project.environment:
        for setting in file.settings:
            if setting.variable not in CACHE_FOLDERS or setting.guarded:
                continue
            is_empty = setting.value == "" and file.kind not in CODE_KINDS
            message = _describe_empty(file, setting, version) if is_empty else _describe_fleeting(setting)
            if message is None:
                continue
            worst = Severity.WARNING if setting.fleeting is None or setting.fleeting.certain else Severity.INFO
            yield Finding(
                path=file.path,
                span=setting.span,
                code=CODE,
                severity=Severity.INFO if file.for_tests else worst,
                message=message,
                advice="use a folder that persists: on a volume, or under the user's cache folder",
            )


def _describe_fleeting(setting: EnvSetting) -> str | None:
    if setting.fleeting is None:
        return None
    return f"compiled kernels are not kept: `{setting.variable}` is {setting.fleeting.why}"


def _describe_empty(file: EnvironmentFile, setting: EnvSetting, version: Version) -> str | None:
    """Return what Triton `version` does with an empty folder; None where that is harmless."""
    named = {other.variable for other in file.settings if other.value != ""}
    if setting.build_only or "TRITON_CACHE_DIR" in named or setting.variable in named:
        return None
    result = "kernels go to .triton/cache below the working directory of each process"
    if setting.variable == "TRITON_CACHE_DIR":
        if version < TAKES_EMPTY:
            return None
        result = "every compile fails"
    state = "empty" if setting.fleeting is None else setting.fleeting.why
    return f"`{setting.variable}` is {state}, and triton {version} takes that as it is: {result}"


RULE = Rule(code=CODE, check=check)

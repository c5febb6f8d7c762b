"""TRD102: an image, a workflow, a script or another settings file that turns interpreter mode on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.timed_regions import (
    CODE_KINDS,
    describe_kept_tuning,
    settings_that_interpret,
    severity_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project


CODE = "TRD102"


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each setting; none behind a flag."""
    for file, setting in settings_that_interpret(project):
        if file.kind in CODE_KINDS or setting.guarded:
            continue
        is_parsed = file.kind != "unparsed"
        reach = "while the image is built" if setting.build_only else "in every process started from here"
        yield Finding(
            path=file.path,
            span=setting.span,
            code=CODE,
            severity=Severity.INFO if file.cpu_only or not is_parsed else severity_of(project, file, setting),
            message=(
                f"`{setting.variable}={setting.value}` runs every kernel in Python on the CPU {reach}: "
                f"600 to 16,000 times slower than compiled{describe_kept_tuning(project)}"
                + ("" if is_parsed else "; this kind of file is not parsed: look whether the line applies")
            ),
            advice=(
                "set it for the one command that needs it, or say in the file why it is intended: "
                f"`# triton-doctor: ignore-file[{CODE}] reason`"
            ),
        )


RULE = Rule(code=CODE, check=check)

"""TRD403: a file that turns interpreter mode on and measures time: it measures Python, not the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity, Step
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.timed_regions import (
    comes_too_late,
    settings_that_interpret,
    severity_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project


CODE = "TRD403"


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each file, at the first measurement."""
    reported = set()
    for file, setting in settings_that_interpret(project):
        is_off = setting.guarded or not setting.own_process or comes_too_late(setting)
        if is_off or not file.timings or file.path in reported:
            continue
        reported.add(file.path)
        first = file.timings[0]
        yield Finding(
            path=file.path,
            span=first.span,
            code=CODE,
            # Cells may run in any order, or not at all: the mode may be off again at the measurement.
            severity=(
                Severity.INFO if file.cpu_only or file.kind == "notebook" else severity_of(project, file, setting)
            ),
            message=f"`{first.text}` measures interpreter mode, which this file turns on",
            advice="measure without the variable: compiled kernels are 600 to 16,000 times faster",
            trail=(
                Step(file.path, setting.span.line, f"`{setting.variable}` is set to {setting.value}"),
                Step(file.path, first.span.line, "time is measured"),
            ),
        )


RULE = Rule(code=CODE, check=check)

"""TRD205: a kernel defined inside a function, so that each call creates it and loads it from disk again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Location, Severity, Step
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.idle_code import (
    KernelFactories,
    describe_idle_reason,
    explain_idle_kernel,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project


CODE = "TRD205"


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each kernel, where it is defined."""
    for kernel, launch in KernelFactories(project).recreated_kernels():
        maker = (kernel.made_in or "").rpartition(".")[2]
        idle = explain_idle_kernel(project, kernel)
        yield Finding(
            path=kernel.path,
            span=kernel.span,
            code=CODE,
            severity=Severity.INFO if idle else Severity.WARNING,
            message=(
                # A new kernel object has an empty cache in memory; Triton's cache on disk is keyed by source.
                f"each call of `{maker}` creates a new `{kernel.name}`, which loads from disk what was compiled before"
                f"{describe_idle_reason(idle)}"
            ),
            advice=(f"define `{kernel.name}` at module level, or keep it with `functools.cache` on `{maker}`"),
            facts=Facts(kernel=kernel.name, kernel_location=Location(kernel.path, kernel.line)),
            trail=(
                Step(kernel.path, kernel.line, f"`{kernel.name}` is defined inside `{maker}`"),
                Step(launch.module.path, launch.launch.span.line, "it is launched"),
            ),
        )


RULE = Rule(code=CODE, check=check)

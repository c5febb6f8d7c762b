"""TRD302: a kernel tuned over very many configs, without pruning and without caching the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Location, Severity
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.configs import config_counts
from triton_doctor.static.variability.queries.idle_code import (
    describe_idle_reason,
    explain_idle_kernel,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project

CODE = "TRD302"
# Each config is compiled, and timed for some 125 ms (triton.testing.do_bench: 25 ms of warm-up, 100 ms of runs).
MOST_CONFIGS = 40


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each kernel, at its decorator."""
    for kernel in project.kernels():
        tuned = kernel.autotune
        if tuned is None or tuned.prunes or tuned.keeps or not tuned.by.endswith("autotune"):
            continue
        count = min(config_counts(project, kernel), default=0)
        if count > MOST_CONFIGS:
            again = f" for each value of {', '.join(f'`{name}`' for name in tuned.key)}" if tuned.key else ""
            idle = explain_idle_kernel(project, kernel)
            yield Finding(
                path=kernel.path,
                span=tuned.span,
                code=CODE,
                severity=Severity.INFO if idle else Severity.WARNING,
                message=(
                    f"`{kernel.name}` compiles and times {count} configs{again}, in every process"
                    + describe_idle_reason(idle)
                ),
                advice=(
                    "list fewer configs, prune them with `prune_configs_by`, or keep the results with "
                    "`cache_results=True`"
                ),
                facts=Facts(kernel=kernel.name, kernel_location=Location(kernel.path, kernel.line), bound=count),
            )


RULE = Rule(code=CODE, check=check)

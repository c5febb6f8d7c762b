"""TRD304: a kernel whose tuning results should be cached, but are not, because a config has a hook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Location, Severity
from triton_doctor.static.rules.registry import Rule
from triton_doctor.static.variability.queries.configs import find_configs
from triton_doctor.static.variability.queries.idle_code import describe_idle_reason, explain_idle_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project

CODE = "TRD304"


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each kernel, at its decorator."""
    for kernel in project.kernels():
        tuned = kernel.autotune
        if tuned is None or not tuned.keeps or not tuned.by.endswith(("triton.autotune", "autotuner.autotune")):
            continue
        if any("pre_hook" in config.options for config in find_configs(project, kernel)):
            idle = explain_idle_kernel(project, kernel)
            yield Finding(
                path=kernel.path,
                span=tuned.span,
                code=CODE,
                severity=Severity.INFO if idle else Severity.WARNING,
                message=(
                    f"`cache_results` keeps nothing for `{kernel.name}`, since a config has a `pre_hook`: "
                    f"each process tunes it again{describe_idle_reason(idle)}"
                ),
                advice="where the hook only clears or restores tensors, `reset_to_zero` and `restore_value` do that",
                facts=Facts(kernel=kernel.name, kernel_location=Location(kernel.path, kernel.line)),
            )


RULE = Rule(code=CODE, check=check)

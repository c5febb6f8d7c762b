"""TRD303: an autotune key that names no parameter of the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Location, Severity
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project


CODE = "TRD303"


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each such name, at the decorator."""
    for kernel in project.kernels():
        tuned = kernel.autotune
        if tuned is None or not tuned.by.endswith(("triton.autotune", "triton.runtime.autotuner.autotune")):
            continue
        names = [param.name for param in kernel.params]
        for name in dict.fromkeys(tuned.key):
            if name not in names:
                yield Finding(
                    path=kernel.path,
                    span=tuned.span,
                    code=CODE,
                    severity=Severity.INFO if interpreter_of(project).call_graph.is_shown(kernel) else Severity.ERROR,
                    message=(
                        f"the autotune key of `{kernel.name}` names `{name}`, which is not a parameter: Triton 3.9 "
                        "raises ValueError, and earlier versions ignore it"
                    ),
                    advice=f"the parameters are {', '.join(f'`{name}`' for name in names)}",
                    facts=Facts(kernel=kernel.name, kernel_location=Location(kernel.path, kernel.line), parameter=name),
                )


RULE = Rule(code=CODE, check=check)

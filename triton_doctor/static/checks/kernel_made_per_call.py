"""TRD205: a kernel that is defined inside a function, and so made anew, and compiled or loaded anew, on each call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Place, Severity, Step
from triton_doctor.static.made import Makers
from triton_doctor.static.parameters import only_demonstrated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.model import Project

CODE = "TRD205"


def check(project: Project) -> Iterator[Finding]:
    """One finding a kernel, where it is defined."""
    for kernel, launch in Makers(project).made_anew():
        maker = (kernel.made_in or "").rpartition(".")[2]
        yield Finding(
            path=kernel.path,
            span=kernel.span,
            code=CODE,
            severity=Severity.INFO if only_demonstrated(project, kernel) else Severity.WARNING,
            message=(
                f"each call of `{maker}` creates a new `{kernel.name}`, which reuses nothing that was compiled before"
            ),
            advice=(f"define `{kernel.name}` at module level, or keep it with `functools.cache` on `{maker}`"),
            facts=Facts(kernel=kernel.name, kernel_place=Place(kernel.path, kernel.span.line)),
            trail=(
                Step(kernel.path, kernel.span.line, f"`{kernel.name}` is defined inside `{maker}`"),
                Step(launch.module.path, launch.launch.span.line, "it is launched"),
            ),
        )

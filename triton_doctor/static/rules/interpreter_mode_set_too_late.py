"""TRD103: interpreter mode turned on after a kernel was decorated, or after Triton was imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity, Step
from triton_doctor.static.rules.registry import Rule
from triton_doctor.static.variability.queries.timed_regions import CODE_KINDS, settings_that_interpret, severity_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.environment.setting import EnvSetting, RunOrder
    from triton_doctor.static.project.project import Project


CODE = "TRD103"


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each setting; info behind a flag: then the flag has no effect."""
    for file, setting in settings_that_interpret(project):
        order = setting.order
        if file.kind not in CODE_KINDS or not setting.own_process:
            continue
        if order.kernel_decorated is None and (order.triton_imported is None or setting.guarded):
            continue
        yield Finding(
            path=file.path,
            span=setting.span,
            code=CODE,
            severity=severity_of(project, file, setting, Severity.INFO if setting.guarded else Severity.WARNING),
            message=_message(order),
            advice="set the variable before the first import of triton, best in the shell",
            trail=_trail(file.path, setting),
        )


def _message(order: RunOrder) -> str:
    if order.kernel_decorated is not None:
        message = f"interpreter mode comes too late for `{order.kernel}`, decorated on line {order.kernel_decorated}"
        if order.kernels_after:
            return f"{message}: it is compiled, while `{order.kernels_after[0]}` is interpreted"
        return f"{message}: it is compiled anyway"
    message = f"interpreter mode is turned on after triton was imported on line {order.triton_imported}"
    if order.helper is not None:
        return f"{message}: `{order.helper}`, which a kernel here calls, is not interpreted, and the launch fails"
    return f"{message}: kernels are interpreted, but not triton's own helpers, such as `tl.sum`, which fail at launch"


def _trail(path: str, setting: EnvSetting) -> tuple[Step, ...]:
    order = setting.order
    steps = []
    if order.triton_imported is not None:
        steps.append(Step(path, order.triton_imported, "triton is imported: its helpers are made"))
    if order.kernel_decorated is not None:
        steps.append(Step(path, order.kernel_decorated, f"`{order.kernel}` is decorated: it will compile"))
    return (*steps, Step(path, setting.span.line, "interpreter mode is turned on"))


RULE = Rule(code=CODE, check=check)

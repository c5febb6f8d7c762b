"""TRD103: interpreter mode turned on after a kernel was decorated, in the file or by an import, or after Triton was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity, Step
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.timed_regions import CODE_KINDS, settings_that_interpret, severity_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.environment.setting import EnvSetting, RunOrder
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Kernel


CODE = "TRD103"


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each setting; info behind a flag: then the flag has no effect."""
    for file, setting in settings_that_interpret(project):
        order = setting.order
        if file.kind not in CODE_KINDS or not setting.own_process:
            continue
        imported = _imported_kernel(project, file.path, order) if order.kernel_decorated is None else None
        if order.kernel_decorated is None and imported is None and (order.triton_imported is None or setting.guarded):
            continue
        yield Finding(
            path=file.path,
            span=setting.span,
            code=CODE,
            severity=severity_of(project, file, setting, Severity.INFO if setting.guarded else Severity.WARNING),
            message=_message(order, imported),
            advice="set the variable before the first import of triton, best in the shell",
            trail=_trail(file.path, setting, imported),
        )


def _imported_kernel(project: Project, path: str, order: RunOrder) -> tuple[int, Kernel] | None:
    """Return a kernel that a module which the file at `path` had imported decorates, and the line of the import."""
    for line, imported in order.modules:
        for source in project.names.modules_imported(path, imported):
            module = project.modules.get(source)
            for kernel in module.kernels if module is not None else ():
                if kernel.made_in is None and kernel.jit_span is not None:
                    return line, kernel
    return None


def _message(order: RunOrder, imported: tuple[int, Kernel] | None) -> str:
    if imported is not None:
        line, kernel = imported
        return (
            f"interpreter mode comes too late for `{kernel.name}`, which the import on line {line} decorates: it is "
            "compiled anyway"
        )
    if order.kernel_decorated is not None:
        message = f"interpreter mode comes too late for `{order.kernel}`, decorated on line {order.kernel_decorated}"
        if order.kernels_after:
            return f"{message}: it is compiled, while `{order.kernels_after[0]}` is interpreted"
        return f"{message}: it is compiled anyway"
    message = f"interpreter mode is turned on after triton was imported on line {order.triton_imported}"
    if order.helper is not None:
        return f"{message}: `{order.helper}`, which a kernel here calls, is not interpreted, and the launch fails"
    return f"{message}: kernels are interpreted, but not triton's own helpers, such as `tl.sum`, which fail at launch"


def _trail(path: str, setting: EnvSetting, imported: tuple[int, Kernel] | None) -> tuple[Step, ...]:
    order = setting.order
    steps = []
    if imported is not None:
        line, kernel = imported
        steps += [
            Step(path, line, f"a module with `{kernel.name}` is imported"),
            Step(kernel.path, kernel.line, f"`{kernel.name}` is decorated: it will compile"),
        ]
    if order.triton_imported is not None:
        steps.append(Step(path, order.triton_imported, "triton is imported: its helpers are made"))
    if order.kernel_decorated is not None:
        steps.append(Step(path, order.kernel_decorated, f"`{order.kernel}` is decorated: it will compile"))
    return (*steps, Step(path, setting.span.line, "interpreter mode is turned on"))


RULE = Rule(code=CODE, check=check)

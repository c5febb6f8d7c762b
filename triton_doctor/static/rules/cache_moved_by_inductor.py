"""TRD109: kernels of a project that uses torch.compile, whose cache folder Inductor then sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Location, Severity
from triton_doctor.static.project.database.dependencies import declare_query
from triton_doctor.static.project.launches.launches import launches_of
from triton_doctor.static.python.ir import Call, dotted
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.idle_code import explain_idle_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Module

CODE = "TRD109"
VARIABLE = "TRITON_CACHE_DIR"
FOLDER = "/tmp/torchinductor_$USER/triton/<device>"


def read_compiles(module: Module, _: str) -> bool:
    """Return whether `module` calls `torch.compile` or decorates with it."""
    used = [site.call.func for function in module.functions.values() for site in function.calls]
    used += [
        decorator.func if isinstance(decorator, Call) else decorator
        for function in module.functions.values()
        for decorator in function.decorators
    ]
    return any(_names_compile(module, dotted(use) or "") for use in used)


COMPILES = declare_query("torch_compile", read_compiles)


def _names_compile(module: Module, name: str) -> bool:
    first, _, rest = name.partition(".")
    imported = module.imports.get(first)
    return rest == "compile" and imported is not None and (imported.module, imported.member) == ("torch", None)


def check(project: Project) -> Iterator[Finding]:
    """Yield an info for each kernel that a program launches beside torch.compile; a scan sums them up."""
    own = [setting for file in project.environment for setting in file.settings if setting.variable == VARIABLE]
    # What a function sets to a folder that no file states, Inductor's for example, is not where the program starts.
    if any(setting.function is None or setting.value for setting in own):
        return
    if not own and VARIABLE in project.set_anywhere:
        return
    launched = launches_of(project)
    kernels = [kernel for kernel in project.kernels() if kernel.key in launched]
    if not kernels or not _compiles(project):
        return
    for kernel in kernels:
        if explain_idle_kernel(project, kernel) is None:
            yield Finding(
                path=kernel.path,
                span=kernel.span,
                code=CODE,
                severity=Severity.INFO,
                message=(
                    f"torch.compile sets TRITON_CACHE_DIR for the whole process: from then on {FOLDER} keeps "
                    f"`{kernel.name}`"
                ),
                advice="set TRITON_CACHE_DIR where the program starts: Inductor leaves a folder that is set",
                facts=Facts(kernel=kernel.name, kernel_location=Location(kernel.path, kernel.line)),
            )


def _compiles(project: Project) -> bool:
    if any(b"torch._inductor" in project.modules.source(path) for path in project.scope):
        return True
    found = project.modules.search(COMPILES, "", name="torch", member="compile", skip=project.tests)
    return any(path not in project.demonstrations for path, _ in found)


RULE = Rule(code=CODE, check=check)

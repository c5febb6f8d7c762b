"""TRD304: tuned kernels whose timings no file keeps, so that each start of the program tunes them again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Location, Severity
from triton_doctor.static.python.ir import Call, Const, Name, every_part
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.configs import config_counts
from triton_doctor.static.variability.queries.idle_code import explain_idle_kernel
from triton_doctor.variables import KEEPS_TUNING, parse_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Autotune, Kernel

CODE = "TRD304"
VARIABLE = "TRITON_CACHE_AUTOTUNING"
# Of more, TRD302 says that every process tunes them.
MOST_CONFIGS = 40


def check(project: Project) -> Iterator[Finding]:
    """Yield an info for each kernel that a program tunes; a scan sums them up. TRD302 reports many configs itself."""
    if VARIABLE in project.set_anywhere:
        return
    lowest = project.required.lowest or project.pinned_triton
    version = parse_version(project.triton_version) if project.triton_version else lowest
    for kernel in project.kernels():
        tuned = kernel.autotune
        if tuned is None or _may_keep(tuned) or tuned.by.rpartition(".")[2] != "autotune":
            continue
        count = min(config_counts(project, kernel), default=0)
        if (
            count == 1
            or (count > MOST_CONFIGS and not tuned.prunes)
            or explain_idle_kernel(project, kernel) is not None
        ):
            continue
        if version is not None and version < KEEPS_TUNING:
            advice = f"Triton {version} cannot keep the timings: {KEEPS_TUNING} and newer can"
        elif _may_hook(project, kernel):
            advice = "a `pre_hook` of a config voids `cache_results`: move the hook into the launch, and pass that"
        else:
            advice = f"pass `cache_results=True` to `@triton.autotune`, or set {VARIABLE}=1"
        yield Finding(
            path=kernel.path,
            span=tuned.span,
            code=CODE,
            severity=Severity.INFO,
            message=f"each start of the program tunes `{kernel.name}` again: no file keeps the timings",
            advice=advice,
            facts=Facts(kernel=kernel.name, kernel_location=Location(kernel.path, kernel.line)),
        )


def _may_keep(tuned: Autotune) -> bool:
    """Return whether `cache_results` is passed, or may be in a table: `@triton.autotune(..., **KEPT)`."""
    has_table = tuned.prunes and tuned.pruned_by in (None, Const(None))
    return tuned.keeps or has_table


def _may_hook(project: Project, kernel: Kernel) -> bool:
    """Return whether a config of `kernel` has a `pre_hook`, or the text with its configs names one."""
    configs = kernel.autotune.configs if kernel.autotune is not None else None
    parts = list(every_part(configs)) if configs is not None else []
    if any(isinstance(part, Call) and "pre_hook" in dict(part.keywords) for part in parts):
        return True
    names = {part.id for part in parts if isinstance(part, Name)}
    module = project.modules[kernel.path]
    homes = {kernel.path}
    for name in names & module.imports.keys():
        found = project.names.dotted(module, name)
        homes.add(getattr(found, "path", kernel.path))
    return bool(names) and any(b"pre_hook" in project.modules.source(path) for path in homes)


RULE = Rule(code=CODE, check=check)

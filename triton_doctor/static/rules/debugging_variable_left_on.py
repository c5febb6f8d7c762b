"""TRD105: a debugging variable that slows kernels or compiles, or spoils a cache, and stays set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.timed_regions import severity_of
from triton_doctor.variables import parse_version, variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project

CODE = "TRD105"
_DRIVERS = frozenset({"cuda", "rocm"})
_COST = {
    "slow-kernels": "it slows kernels: it ",
    "slow-compiles": "it slows compiles: it ",
    "no-cache": "it disables a cache: it ",
    "poisons-cache": "it poisons the cache: it ",
    "prints": "it ",
    "passes": "it ",
}


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each harmful setting; info if it only prints, or only teaches.

    None behind a flag; none for a variable of CUDA or ROCm in a script that builds C++.
    """
    version = parse_version(project.triton_version)
    for file in project.environment:
        for setting in file.settings:
            variable = variables().get(setting.variable)
            if variable is None or setting.guarded or setting.value is None:
                continue
            variable = variable.at(setting.value)
            if not variable.harmful(setting.value) or not variable.read_by(version):
                continue
            # Programs in C++ read the variables of CUDA and ROCm too.
            if file.builds_cpp and variable.reader in _DRIVERS:
                continue
            # A slow compile in a demonstration does not matter; slow kernels falsify what it measures.
            is_shown = (
                file.kind == "notebook"
                or (variable.harm != "slow-kernels" and file.path in project.demonstrations)
                or (variable.harm == "slow-compiles" and file.reads_dumps)
            )
            worst = Severity.INFO if variable.harm in {"prints", "passes"} or is_shown else Severity.WARNING
            severity = severity_of(project, file, setting, worst)
            how = "is left on" if severity > Severity.INFO else "is set"
            yield Finding(
                path=file.path,
                span=setting.span,
                code=CODE,
                severity=severity,
                message=f"`{setting.variable}={setting.value}` {how}, and {_COST[variable.harm]}{variable.effect}",
                advice="set it for the one run that needs it, or put it behind a debug flag",
            )


RULE = Rule(code=CODE, check=check)

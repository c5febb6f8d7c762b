"""TRD104: a variable meant for Triton that the chosen version does not read.

The fix uses the intended variable, or the one that replaced an old one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Severity
from triton_doctor.plan import Plan, RenameString, Safety
from triton_doctor.static.rules import Rule
from triton_doctor.variables import (
    INTERPRET,
    PTXAS,
    Variable,
    Version,
    is_of_other_backend,
    looks_like_triton,
    meant,
    newest_version,
    parse_version,
    ptxas_variable,
    variables,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.environment.setting import EnvironmentFile, EnvSetting
    from triton_doctor.static.project.project import Project


CODE = "TRD104"


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each setting."""
    version = parse_version(project.triton_version)
    for file in project.environment:
        for setting in file.settings:
            known = variables().get(setting.variable)
            described = _known(known, version) if known is not None else _unknown(setting)
            if setting.variable == PTXAS and file.names_blackwell:
                described = described or _unused_ptxas(file, version)
            if described is None:
                continue
            severity, message, advice = described
            yield Finding(
                path=file.path,
                span=setting.span,
                code=CODE,
                severity=Severity.INFO if file.for_tests else severity,
                message=message,
                advice=advice,
                facts=Facts(word=setting.variable if known is None else None),
            )


def _known(variable: Variable, version: Version) -> tuple[Severity, str, str] | None:
    if variable.read_by(version) or not (variable.name.startswith("TRITON_") or variable.instead):
        return None
    if variable.last is not None and version > variable.last:
        message = f"triton {version} does not read `{variable.name}`, triton {variable.last} was the last that did"
        if variable.instead:
            return Severity.WARNING, f"{message}: `{variable.instead}` took its place", f"set `{variable.instead}`"
        return Severity.WARNING, message, "delete it"
    message = f"triton {version} does not read `{variable.name}`, triton {variable.first} is the first that does"
    return Severity.WARNING, message, f"use Triton {variable.first} or newer"


def _unused_ptxas(file: EnvironmentFile, version: Version) -> tuple[Severity, str, str] | None:
    newer = ptxas_variable(version, 100)
    if newer == PTXAS or any(setting.variable == newer for setting in file.settings):
        return None
    message = f"triton 3.6 and newer do not read `{PTXAS}` for capability 10 and newer, which this file names"
    return Severity.INFO, message, f"set `{newer}`"


def _unknown(setting: EnvSetting) -> tuple[Severity, str, str] | None:
    name = setting.variable
    if not looks_like_triton(name):
        return None
    if is_of_other_backend(name):
        return Severity.INFO, f"`{name}` is of another backend", "it has no effect on NVIDIA's and AMD's GPUs"
    message = f"no Triton up to {newest_version()} reads `{name}`"
    near = meant(name)
    if near is not None and near[1]:
        return Severity.WARNING, f"{message}: did you mean `{near[0]}`?", f"set `{near[0]}`, or delete the line"
    if setting.build_only:
        # A build argument of the image itself, not meant for Triton.
        return None
    if near is not None:
        message = f"{message}; the closest name that it reads is `{near[0]}`"
    return (
        Severity.INFO,
        message,
        "it has no effect, unless another backend, a fork, a plug-in or the program itself reads it",
    )


def plan(project: Project, finding: Finding) -> Plan | None:
    """Return an unsafe plan, since the variable takes effect then. None if that effect would be reported in turn."""
    for file in project.environment:
        if file.path != finding.path or file.kind != "python":
            continue
        for setting in file.settings:
            if setting.span == finding.span:
                name = _intended(setting.variable)
                known = variables().get(name or "")
                if name is None or known is None or not known.read_by(parse_version(project.triton_version)):
                    continue
                if setting.value is None or known.harmful(setting.value) or name == INTERPRET:
                    continue
                return Plan(
                    safety=Safety.UNSAFE,
                    title=f"set `{name}` instead of `{setting.variable}`",
                    changes=(RenameString(file.path, setting.span, setting.variable, name),),
                )
    return None


def _intended(name: str) -> str | None:
    known = variables().get(name)
    if known is not None:
        return known.instead or None
    near = meant(name)
    return near[0] if near is not None and near[1] else None


RULE = Rule(code=CODE, check=check, plan=plan)

"""TRD104: a variable that is meant for Triton, and that the chosen version does not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Severity
from triton_doctor.variables import (
    Variable,
    Version,
    looks_like_triton,
    meant,
    newest_version,
    parse_version,
    variables,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.environment.setting import EnvSetting
    from triton_doctor.static.project.project import Project

CODE = "TRD104"


def check(project: Project) -> Iterator[Finding]:
    """One finding a setting."""
    version = parse_version(project.triton_version)
    for file in project.environment:
        for setting in file.settings:
            known = variables().get(setting.variable)
            told = _known(known, version) if known is not None else _unknown(setting)
            if told is None:
                continue
            severity, message, advice = told
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
        told = f"triton {version} does not read `{variable.name}`, triton {variable.last} was the last that did"
        if variable.instead:
            return Severity.WARNING, f"{told}: `{variable.instead}` took its place", f"set `{variable.instead}`"
        return Severity.WARNING, told, "delete it"
    told = f"triton {version} does not read `{variable.name}`, triton {variable.first} is the first that does"
    return Severity.WARNING, told, f"use Triton {variable.first} or newer"


def _unknown(setting: EnvSetting) -> tuple[Severity, str, str] | None:
    name = setting.variable
    if not looks_like_triton(name):
        return None
    told = f"no Triton up to {newest_version()} reads `{name}`"
    near = meant(name)
    if near is not None and near[1]:
        return Severity.WARNING, f"{told}: did you mean `{near[0]}`?", f"set `{near[0]}`, or delete the line"
    if setting.build_only:
        # A build argument of the image's own, not meant for Triton.
        return None
    if near is not None:
        told = f"{told}; the closest name that it reads is `{near[0]}`"
    return Severity.INFO, told, "it has no effect, unless a fork, a plug-in or the program itself reads it"

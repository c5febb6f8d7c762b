"""TRD104: a variable that is meant for Triton, and that the chosen version does not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Place, Severity
from triton_doctor.static.environment import severity_at
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

    from triton_doctor.static.model import Project
    from triton_doctor.static.model_environment import EnvironmentFile, EnvSetting

CODE = "TRD104"


def check(project: Project) -> Iterator[Finding]:
    """One finding a variable and file, at its first setting; the others are listed in it."""
    version = parse_version(project.triton_version)
    for file in project.environment:
        by_name: dict[str, list[EnvSetting]] = {}
        for setting in file.settings:
            by_name.setdefault(setting.variable, []).append(setting)
        for name, settings in by_name.items():
            told = _known(variables()[name], version) if name in variables() else _unknown(name, settings)
            if told is not None:
                yield _finding(file, settings, *told)


def _known(variable: Variable, version: Version) -> tuple[Severity, str, str] | None:
    if variable.read_by(version) or not (variable.name.startswith("TRITON_") or variable.instead):
        return None
    if variable.last is not None and version > variable.last:
        told = f"triton {version} does not read `{variable.name}`, triton {variable.last} was the last that did"
        return Severity.WARNING, told, f"set `{variable.instead}`" if variable.instead else "delete it"
    told = f"triton {version} does not read `{variable.name}`, triton {variable.first} is the first that does"
    return Severity.WARNING, told, f"it takes triton {variable.first} or newer"


def _unknown(name: str, settings: list[EnvSetting]) -> tuple[Severity, str, str] | None:
    if not looks_like_triton(name):
        return None
    told = f"no triton up to {newest_version()} reads `{name}`"
    near = meant(name)
    if near is not None and near[1]:
        return Severity.WARNING, told, f"did you mean `{near[0]}`?"
    if all(setting.build_only for setting in settings):
        # A build argument of the image's own, not meant for Triton.
        return None
    if near is not None:
        return Severity.INFO, told, f"the nearest that it reads is `{near[0]}`"
    return Severity.INFO, told, "it has no effect, unless a fork, a plug-in or the program itself reads it"


def _finding(
    file: EnvironmentFile, settings: list[EnvSetting], severity: Severity, message: str, advice: str
) -> Finding:
    first, *others = settings
    return Finding(
        path=file.path,
        span=first.span,
        code=CODE,
        severity=severity_at(file, severity),
        message=message,
        advice=advice,
        facts=Facts(also=tuple(Place(file.path, one.span.line) for one in others)),
    )

"""TRD211: a launch option that only sets a parameter of the same name, so that the kernel runs without it.

The fix passes the option by name, which sets both the parameter and the option.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Facts, Finding, Location, Severity, Span
from triton_doctor.plan import Change, NameArgument, Plan, Safety
from triton_doctor.static.project.calls.surroundings import launches, subject
from triton_doctor.static.project.launches.launches import hides_arguments, launches_of, origin_of, spelled_out
from triton_doctor.static.python.ir import Const, Expr, Star
from triton_doctor.static.python.printing import spell
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.models.python import CONFIG_PARAMETERS, LAUNCH_OPTIONS, is_default
from triton_doctor.static.variability.queries.configs import find_configs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.module import Kernel, Param


CODE = "TRD211"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each launch and option, at the argument; one for each tuning and option, at the decorator."""
    for kernel in project.kernels():
        for param in kernel.params:
            # a parameter that the kernel reads is deliberate, except that it does not set the number of warps
            if param.name not in LAUNCH_OPTIONS or (param.name in kernel.uses.read and param.name != "num_warps"):
                continue
            if kernel.autotune is not None:
                yield from _configs(project, kernel, param)
            elif not kernel.heuristics:
                for launch in launches_of(project).get(kernel.key, ()):
                    yield from _launch(launch, kernel, param)


def _launch(launch: LinkedLaunch, kernel: Kernel, param: Param) -> Iterator[Finding]:
    argument = spelled_out(launch, kernel).get(param.name)
    if argument is None:
        hidden = hides_arguments(launch) or param.default is None or _is_default(param.name, param.default)
        if not hidden and param.default is not None:
            message = f"`{param.name}` of `{kernel.name}` defaults to {spell(param.default)}"
            yield _finding(launch.module.path, launch.launch.span, launch, kernel, param, message)
    elif argument.name is None and not _is_default(param.name, origin_of(launch, argument.value)):
        value = spell(argument.value)
        message = f"`{param.name}` of `{kernel.name}` is passed by position"
        if value != param.name:
            message = f"`{value}` is passed to `{param.name}` of `{kernel.name}` by position"
        yield _finding(launch.module.path, argument.span, launch, kernel, param, message)


def _is_default(name: str, value: Expr) -> bool:
    return isinstance(value, Const) and is_default(name, value.value)


def _finding(path: str, span: Span, launch: LinkedLaunch, kernel: Kernel, param: Param, message: str) -> Finding:
    return Finding(
        path=path,
        span=span,
        code=CODE,
        severity=Severity.WARNING,
        message=f"{message}: this sets only the parameter, and the kernel runs with Triton's default `{param.name}`",
        advice=f"pass it by name, `{param.name}=...`, which sets both, or rename the parameter",
        facts=_facts(kernel, param, launch.launch.span),
    )


def _configs(project: Project, kernel: Kernel, param: Param) -> Iterator[Finding]:
    """Yield `Config({"num_warps": 8})`, where the config's own option, with its default, overrides the entry."""
    tuned = kernel.autotune
    if tuned is None or param.name not in CONFIG_PARAMETERS:
        return
    for config in find_configs(project, kernel):
        values = config.parameters.get(param.name)
        if values is None or param.name in config.options:
            continue
        if not values or not all(is_default(param.name, value.value) for value in values):
            yield Finding(
                path=kernel.path,
                span=tuned.span,
                code=CODE,
                severity=Severity.WARNING,
                message=(
                    f"a config of `{kernel.name}` sets `{param.name}` as a parameter: the config's own option of "
                    "that name has a default, which overrides it"
                ),
                advice=f"`triton.Config({{...}}, {param.name}=...)` sets both",
                facts=_facts(kernel, param, None),
            )
            return


def _facts(kernel: Kernel, param: Param, launch: Span | None) -> Facts:
    return Facts(
        kernel=kernel.name,
        kernel_location=Location(kernel.path, kernel.line),
        parameter=param.name,
        parameter_location=Location(kernel.path, param.span.line),
        launch=launch,
    )


def plan(project: Project, finding: Finding) -> Plan | None:
    """Name it and the positional arguments after it; None if the value is a default, or is in a config."""
    found = subject(project, finding)
    if found is None:
        return None
    kernel, param = found
    for launch in launches(project, kernel):
        here = (launch.module.path, launch.launch.span) == (finding.path, finding.facts.launch)
        if not here or len(launch.kernels) != 1 or hides_arguments(launch):
            continue
        names = {id(expr): name for name, expr in spelled_out(launch, kernel).items()}
        changes: list[Change] = []
        for argument in launch.launch.arguments:
            name = names.get(id(argument))
            if argument.name is None and name is not None and (changes or name == param.name):
                changes.append(NameArgument(launch.module.path, launch.launch.span, argument.span, name))
            elif isinstance(argument.value, Star):
                return None
        if changes:
            return Plan(
                safety=Safety.UNSAFE,
                title=f"give `{param.name}` of `{kernel.name}` by name",
                changes=tuple(changes),
            )
    return None


RULE = Rule(code=CODE, check=check, plan=plan)

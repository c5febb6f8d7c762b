"""TRD203: a constexpr that receives equal values of different types, which Triton treats as the same.

The fix uses one type at every launch, if the launches spell the numbers out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.finding import Facts, Finding, Location, Severity, Span, Step
from triton_doctor.plan import Change, Plan, Replace, Safety
from triton_doctor.static.project.calls.surroundings import are_spelled_out, launches, subject
from triton_doctor.static.project.launches.launches import computes_with, hides_arguments, launches_of, spelled_out
from triton_doctor.static.python.ir import Const
from triton_doctor.static.rules.registry import Rule
from triton_doctor.static.variability.queries.queries import find_literals, find_module_literals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.module import Kernel, Param


CODE = "TRD203"


class _WrittenNumber(NamedTuple):
    """A number that a launch may pass, where it is written, and the span of the launch."""

    value: int | float
    written: Location
    path: str
    span: Span
    launch: Span


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each parameter: at the launch that passes the second type, by path and line."""
    for kernel in project.kernels():
        launches = launches_of(project).get(kernel.key, ())
        for param in kernel.params if launches else ():
            if param.is_constexpr and computes_with(project, kernel, param.name):
                given = [one for launch in launches for one in _given(project, launch, kernel, param)]
                pair = _mixed(given)
                if pair is not None:
                    yield _finding(kernel, param, *pair)


def _given(project: Project, launch: LinkedLaunch, kernel: Kernel, param: Param) -> Iterator[_WrittenNumber]:
    argument = spelled_out(launch, kernel).get(param.name)
    if argument is not None:
        found = find_literals(project, launch, argument.value)
    elif param.default is not None and not hides_arguments(launch) and not kernel.may_set(param.name):
        found = find_module_literals(project, kernel.path, param.default, param.span.line)
    else:
        return
    span = argument.span if argument is not None else launch.launch.span
    for one in found:
        if isinstance(one.value, int | float):
            yield _WrittenNumber(one.value, Location(one.path, one.line), launch.module.path, span, launch.launch.span)


def _mixed(given: Sequence[_WrittenNumber]) -> tuple[_WrittenNumber, _WrittenNumber] | None:
    """Return the first two, in order, that are equal but not the same."""
    by_value: dict[int | float, _WrittenNumber] = {}
    for second in given:
        first = by_value.setdefault(second.value, second)
        if _type(first.value) != _type(second.value):
            return first, second
    return None


def _type(value: int | float) -> str:
    """Return the type's name; `-0.0` differs from `0.0`, which it equals."""
    return f"{type(value).__name__}{' below zero' if math.copysign(1, value) < 0 and value == 0 else ''}"


def _finding(kernel: Kernel, param: Param, first: _WrittenNumber, second: _WrittenNumber) -> Finding:
    bool_and_int = {type(first.value), type(second.value)} == {bool, int}
    one, other = (_written(given, second.path) for given in (first, second))
    return Finding(
        path=second.path,
        span=second.span,
        code=CODE,
        severity=Severity.WARNING if bool_and_int else Severity.ERROR,
        message=(
            f"`{param.name}` of `{kernel.name}` is {other} and {one}: Triton 3.5 to 3.9 treats equal values of "
            "different types as one, and runs the variant that was compiled first for both"
        ),
        advice=f"give `{param.name}` one type at every launch: `{float(second.value)}`"
        if not bool_and_int
        else f"give `{param.name}` one type at every launch",
        facts=Facts(
            kernel=kernel.name,
            kernel_location=Location(kernel.path, kernel.line),
            parameter=param.name,
            parameter_location=Location(kernel.path, param.span.line),
            launch=second.launch,
            also=()
            if (first.path, first.span) == (second.path, second.span)
            else (Location(first.path, first.span.line),),
        ),
        trail=(
            Step(first.written.path, first.written.line, f"`{param.name}` is {first.value!r}"),
            Step(second.written.path, second.written.line, f"`{param.name}` is {second.value!r}"),
        ),
    )


def _written(given: _WrittenNumber, path: str) -> str:
    location = given.written
    return f"{given.value!r} on line {location.line}" + (f" of {location.path}" if location.path != path else "")


def plan(project: Project, finding: Finding) -> Plan | None:
    """Return a plan that gives all numbers at its launches one type: bool, int or float."""
    found = subject(project, finding)
    if found is None or not are_spelled_out(project, found[0]):
        return None
    kernel, param = found
    given = []
    for launch in launches(project, kernel):
        argument = spelled_out(launch, kernel).get(param.name)
        if argument is None or not isinstance(argument.value, Const):
            return None
        given.append((launch, argument, argument.value.value))
    values = [value for _, _, value in given]
    wanted = _common_type(values)
    if wanted is None:
        return None
    changes: list[Change] = []
    for launch, argument, value in given:
        if type(value) is not wanted and isinstance(value, int | float):
            before = f"{argument.name}=" if argument.name is not None else ""
            text = f"{before}{wanted(value)!r}"
            changes.append(Replace(launch.module.path, launch.launch.span, argument.span, text))
    return Plan(
        safety=Safety.UNSAFE,
        title=f"give `{param.name}` of `{kernel.name}` as {wanted.__name__} at every launch",
        changes=tuple(changes),
    )


def _common_type(values: Iterable[object]) -> type[bool] | type[int] | type[float] | None:
    """Return the type that can represent all values; None if one is no number, or a zero would lose its sign."""
    kinds = {type(value) for value in values}
    if not kinds <= {bool, int, float} or any(value == 0 and type(value) is float for value in values):
        return None
    if float in kinds:
        return float
    return bool if all(value in (0, 1) for value in values) else int


RULE = Rule(code=CODE, check=check, plan=plan)

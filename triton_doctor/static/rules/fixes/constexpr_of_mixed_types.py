"""TRD203: one type at every launch, where the launches spell the numbers out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.plan import Change, Plan, Replace, Safety
from triton_doctor.static.project.launches import spelled_out
from triton_doctor.static.project.surroundings import is_seen_whole, launches, subject
from triton_doctor.static.python.ir import Const

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triton_doctor.finding import Finding
    from triton_doctor.static.project.project import Project


def plan(project: Project, finding: Finding) -> Plan | None:
    """Make the numbers that its launches give truth values, integers or fractions, all of them."""
    found = subject(project, finding)
    if found is None or not is_seen_whole(project, found[0]):
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
        rests_on=kernel.path,
    )


def _common_type(values: Iterable[object]) -> type[bool] | type[int] | type[float] | None:
    """The type that can hold them all; None where one is no number, or zero has a sign to lose."""
    kinds = {type(value) for value in values}
    if not kinds <= {bool, int, float} or any(value == 0 and type(value) is float for value in values):
        return None
    if float in kinds:
        return float
    return bool if all(value in (0, 1) for value in values) else int

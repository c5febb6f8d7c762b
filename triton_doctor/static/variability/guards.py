"""Values to what the tests before a place leave of them: `assert batch == 1`, `if n > 32: raise`, `if n <= 32:`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Attr, Name
from triton_doctor.static.variability.axis_names import named_axes
from triton_doctor.static.variability.lattice import FEW, FIXED, AbstractNumber

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.python.function import AssertedBound
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter import Interpreter
    from triton_doctor.static.variability.program_point import ProgramPoint
    from triton_doctor.static.variability.values import Value


def limited(flow: Interpreter, value: Value, name: str, place: ProgramPoint) -> Value:
    """The value of `name`, as the tests before `place` leave it."""
    for limit in _limits(name, None, place):
        value = _bounded(flow, flow.as_scalar(value, place.frame), limit, place) or value
    return value


def limited_axis(
    flow: Interpreter, axis: AbstractNumber, name: str, position: int, place: ProgramPoint
) -> AbstractNumber:
    """The axis at `position` of the tensor `name`, as the tests before `place` leave it.

    A test of what the function calls the axis counts too: `batch, length = q.shape`, `assert batch == 1`.
    """
    function = place.frame.function
    if not function.limits:
        return axis
    for limit in _limits(name, position, place):
        axis = _bounded(flow, axis, limit, place) or axis
    names = named_axes(function, name)
    own = names[position] if -len(names) <= position < len(names) else ""
    if own and len(function.bindings[own]) == 1:
        for limit in _limits(own, None, place):
            axis = _bounded(flow, axis, limit, place) or axis
    return axis


def limited_item(flow: Interpreter, value: Value, shape: Expr, position: object, place: ProgramPoint) -> Value:
    """The item at `position` of `shape`, as the tests before `place` leave it."""
    match shape, position:
        case Attr(Name(name), "shape"), int(axis) if place.frame.function.limits:
            return limited_axis(flow, flow.as_scalar(value, place.frame), name, axis, place)
        case _:
            return value


def _limits(name: str, axis: int | None, place: ProgramPoint) -> Iterator[AssertedBound]:
    """What was tested of `name` since it was bound, and holds at `place`."""
    function = place.frame.function
    limits = function.limits.get(name)
    if limits:
        bound = max((one.order for one in function.bindings.get(name, ()) if one.order < place.order), default=-1)
        for limit in limits:
            if limit.axis == axis and bound < limit.order < place.order and set(limit.arms) <= set(place.arms):
                yield limit


def _bounded(
    flow: Interpreter, scalar: AbstractNumber, limit: AssertedBound, place: ProgramPoint
) -> AbstractNumber | None:
    """The number as `limit` leaves it; None where that says nothing new."""
    if len(limit.choices) == 1:
        (number,) = limit.choices
        return FIXED._replace(literal=number, low=number, high=number, trail=scalar.trail)
    if limit.choices:
        return FEW._replace(trail=scalar.trail)
    high = flow.scalar(limit.high, place).literal if limit.high is not None else None
    if isinstance(high, int) and (scalar.high is None or high < scalar.high):
        return scalar._replace(high=high)
    return None

"""Tests before a program point that bound values: `assert batch == 1`, `if n > 32: raise`, `if n <= 32:`."""

from __future__ import annotations

from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.static.project.limits import MOST_DEPTH
from triton_doctor.static.python.bounds import bounds_of_integers
from triton_doctor.static.python.ir import Attr, BinaryOp, Conditional, Name
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.variability.hints.axis_context import AxisContext
from triton_doctor.static.variability.hints.hints import apply_hints
from triton_doctor.static.variability.interpreter.branch_tests import is_likely_given, is_taken, readable_tests
from triton_doctor.static.variability.notes.axis_names import named_axes, read_axis
from triton_doctor.static.variability.notes.named_sizes import allocated_axes
from triton_doctor.static.variability.values.dims import Dim, DimProduct
from triton_doctor.static.variability.values.lattice import FEW, FIXED, UNKNOWN, AbstractNumber, Variability
from triton_doctor.static.variability.values.tensors import axis_at
from triton_doctor.static.variability.values.values import ProgramPoint, SymbolicValue, Tensor, end_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from triton_doctor.static.python.function import AssertedBound, BranchArm, Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.dims import DimFactor
    from triton_doctor.static.variability.values.values import CallFrame, Value


class _Callers(Enum):
    """The callers for which a bound holds: all that are known; some, since what they give may be None; or none."""

    ALL = auto()
    SOME = auto()
    NONE = auto()


def apply_bounds(interpreter: Interpreter, value: Value, name: str, point: ProgramPoint) -> Value:
    """Return the value of `name`, bounded by the tests before `point`."""
    if name in point.frame.function.limits:
        for limit, callers in _limits(interpreter, name, None, point):
            value = _bounded(interpreter, interpreter.as_number(value, point.frame), limit, point, callers) or value
    return _limited_elsewhere(interpreter, value, point) if isinstance(value, AbstractNumber) else value


def apply_axis_bounds(
    interpreter: Interpreter, axis: AbstractNumber, name: str, position: int, point: ProgramPoint
) -> AbstractNumber:
    """Return the axis at `position` of the tensor `name` (empty for none), bounded by the tests before `point`.

    Tests of a name for the axis count too (`batch, length = q.shape`, `assert batch == 1`), and tests of the same axis
    of another tensor: `out = torch.empty_like(q)`, `assert out.shape[0] == 1`.
    """
    function = point.frame.function
    if not function.limits:
        return axis
    for limit, callers in _limits(interpreter, name, position, point):
        axis = _bounded(interpreter, axis, limit, point, callers) or axis
    for names in (named_axes(function, name), allocated_axes(function, name)):
        own = names[position] if -len(names) <= position < len(names) else ""
        if own and len(function.bindings.get(own, ())) <= 1:
            for limit, callers in _limits(interpreter, own, None, point):
                axis = _bounded(interpreter, axis, limit, point, callers) or axis
    return _limited_elsewhere(interpreter, axis, point)


def apply_item_bounds(
    interpreter: Interpreter, value: Value, shape: Expr, position: object, point: ProgramPoint
) -> Value:
    """Return the item at `position` of `shape`, bounded by the tests before `point`."""
    match shape, position:
        case Attr(Name(name), "shape"), int(axis):
            return apply_axis_bounds(interpreter, interpreter.as_number(value, point.frame), name, axis, point)
        case _:
            return value


def _limits(
    interpreter: Interpreter, name: str, axis: int | None, point: ProgramPoint
) -> Iterator[tuple[AssertedBound, _Callers]]:
    """Yield the bounds of `name` since its last binding that hold at `point`, and for which callers."""
    function = point.frame.function
    limits = bounds_of_integers(function).get(name)
    if limits:
        bound = max(
            (binding.order for binding in function.bindings.get(name, ()) if binding.order < point.order), default=-1
        )
        for limit in limits:
            if limit.axis == axis and bound < limit.order:
                callers = _bounded_callers(interpreter, name, limit, point)
                if callers is not _Callers.NONE:
                    yield limit, callers


def _bounded_callers(interpreter: Interpreter, name: str, limit: AssertedBound, point: ProgramPoint) -> _Callers:
    """Return the callers for which `limit`, a bound of `name`, holds at `point`.

    `if x is not None: assert x.shape[0] == 1` holds after the branch too: there `x` is None or has passed. `if lengths
    is not None: assert batch == 1` leaves one item to the callers that give lengths.
    """
    if limit.order >= point.order:
        return _Callers.NONE
    before = ProgramPoint(point.frame, limit.order, point.arms)
    untaken = [arm for arm in _further_arms(name, limit, point) if not _is_entered(interpreter, arm, before)]
    if not untaken:
        return _Callers.ALL
    is_given = limit.choices == (1,) and all(
        arm.given is not None and is_likely_given(interpreter, arm.given, before) for arm in untaken
    )
    return _Callers.SOME if is_given else _Callers.NONE


def _further_arms(name: str, limit: AssertedBound, point: ProgramPoint) -> Iterator[BranchArm]:
    """Yield the arms around the test `limit` of `name` that are not around `point`.

    Arms that only test this `name` for None are left out.
    """
    for arm in limit.arms:
        if arm not in point.arms and not (limit.axis is not None and name and arm.given == name):
            yield arm


def _will_hold(interpreter: Interpreter, name: str, limit: AssertedBound, point: ProgramPoint) -> bool:
    """Return whether the function, once at `point`, fails later unless `limit` holds."""
    if limit.left is None or not limit.left < point.order < limit.order:
        return False
    before = ProgramPoint(point.frame, limit.order, point.arms)
    return all(_is_entered(interpreter, arm, before) for arm in _further_arms(name, limit, point))


def _is_entered(interpreter: Interpreter, arm: BranchArm, point: ProgramPoint) -> bool:
    """Return whether every path to `point` enters `arm`: by a test of None, or by one of literals."""
    return is_taken(interpreter, arm, point) or interpreter.tests.left_open(point.frame, (arm,)) == ()


def _limited_elsewhere(interpreter: Interpreter, number: AbstractNumber, point: ProgramPoint) -> AbstractNumber:
    """Return the number, if it is one axis, bounded by tests of that axis under another name."""
    match number.size:
        case DimProduct((Dim() as axis,), ()):
            pass
        case _:
            return number
    function = point.frame.function
    limits_by_name = bounds_of_integers(function)
    readable = readable_tests(function) if limits_by_name else ()
    for name, limits in limits_by_name.items():
        # If `out` is None it was not tested; that says nothing about `q`, which may be the same tensor.
        own = name if axis.root.name == name else ""
        for limit in limits:
            if not _may_reach(limit, point, readable):
                continue
            key = (point.frame, name, limit.axis, limit.order)
            evaluation = partial(_tested_axis, interpreter, name, limit, point.frame)
            tested = interpreter.evaluations.evaluate(key, evaluation, on_cycle=None, beyond_limit=None)
            if tested != axis and not (isinstance(tested, Dim) and _is_called_alike(tested, axis)):
                continue
            will_hold = limit.order >= point.order and _will_hold(interpreter, own, limit, point)
            callers = _Callers.ALL if will_hold else _bounded_callers(interpreter, own, limit, point)
            if callers is not _Callers.NONE:
                number = _bounded(interpreter, number, limit, point, callers) or number
    return _limited_in_forward(interpreter, number, axis, point) if function.name == "backward" else number


def _limited_in_forward(
    interpreter: Interpreter, number: AbstractNumber, axis: Dim, point: ProgramPoint
) -> AbstractNumber:
    """Return the number, bounded by tests in forward of an autograd function, if `axis` is of what forward saved."""
    frame = point.frame
    owner, _, method = axis.root.function.rpartition(".")
    if method != "forward" or owner != frame.function.class_name or axis.root.path != frame.module.path:
        return number
    forward = frame.module.functions.get(axis.root.function)
    if forward is None or forward is frame.function or not forward.limits or frame.depth >= MOST_DEPTH:
        return number
    return _limited_elsewhere(interpreter, number, end_of(interpreter.frame(frame.module, forward, frame.depth + 1)))


def _may_reach(limit: AssertedBound, point: ProgramPoint, readable: Collection[int]) -> bool:
    """Return whether all arms around `limit` are also around `point`, except for tests of None and `readable` ones."""
    return all(arm in point.arms or arm.given is not None or arm.branch in readable for arm in limit.arms)


def _is_called_alike(axis: Dim, other: Dim) -> bool:
    """Return whether the author gives axes of two arguments the same name: `q: (B, T, H)`, `k: (B, T, H)`."""
    if (axis.root.path, axis.root.function) != (other.root.path, other.root.function):
        return False
    name = _written_name(other)
    return name is not None and name == _written_name(axis)


def _written_name(axis: Dim) -> str | None:
    note = axis.root.note
    at = note.at(axis.position) if note is not None and note.is_written else None
    return note.axes[at] if note is not None and at is not None and note.axes[at].isidentifier() else None


def _tested_axis(interpreter: Interpreter, name: str, limit: AssertedBound, frame: CallFrame) -> DimFactor | None:
    """Return the axis that `limit` bounds, at the time of the test; None if it is none or unknown."""
    tensor, position, at = name, limit.axis, ProgramPoint(frame, limit.order, limit.arms)
    if position is None:
        bound = reaching_definitions(frame.function, name, limit.order, limit.arms)
        read = read_axis(bound.bindings[0].value) if bound.certain and len(bound.bindings) == 1 else None
        if read is None:
            return None
        tensor, position = read.tensor, read.position
        at = ProgramPoint(frame, bound.bindings[0].order, bound.bindings[0].arms)
    value = interpreter.value(Name(tensor), at)
    if not isinstance(value, Tensor | SymbolicValue):
        return None
    match axis_at(value, position).size:
        case DimProduct((Dim() as axis,), ()):
            return axis
        case _:
            return None


def _bounded(
    interpreter: Interpreter, number: AbstractNumber, limit: AssertedBound, point: ProgramPoint, callers: _Callers
) -> AbstractNumber | None:
    """Return the number bounded by `limit`, which holds for `callers`; None if that is nothing new.

    With one item for some callers, and as many as the data has for others, it is undecided.
    """
    if callers is _Callers.SOME:
        undecided = UNKNOWN._replace(is_integer=number.is_integer, literals=number.literals, trail=number.trail)
        varies = number.decide() in (Variability.PER_CALL, Variability.UNKNOWN)
        return hint_one(undecided, point.frame.function) if varies else None
    if len(limit.choices) == 1:
        (literal,) = limit.choices
        return FIXED._replace(
            literal=literal,
            low=literal,
            high=literal,
            is_integer=number.is_integer,
            literals=number.literals,
            trail=number.trail,
        )
    if limit.choices:
        return FEW._replace(is_integer=number.is_integer, literals=number.literals, trail=number.trail)
    other = _high(interpreter, limit, point.frame)
    if other is None:
        return None
    # The kind of another tensor's axis is no more certain than that of this one.
    # But `assert scale == 1 or scale == hidden` leaves an axis that is broadcast, or as long as the other.
    is_setting = isinstance(limit.high, Conditional) or (
        other.size is None and not other.undecided_dims and (other.literal is ... or isinstance(other.literal, int))
    )
    if limit.is_equal and is_setting and other.decide() <= Variability.PER_MODEL:
        return other.fix_decision()._replace(is_integer=number.is_integer, literals=number.literals, trail=number.trail)
    if isinstance(limit.high, BinaryOp) and limit.high.op == "//" and other.literal is ... and other.suggests_model:
        # `if n * 4 <= num_experts:` leaves few values, small relative to the model.
        return FEW._replace(is_integer=number.is_integer, trail=number.trail)
    high = other.literal
    if isinstance(high, int) and (number.high is None or high < number.high):
        return number._replace(high=high)
    return None


def _high(interpreter: Interpreter, limit: AssertedBound, frame: CallFrame) -> AbstractNumber | None:
    """Return the upper bound of `limit` at the time of the test. Two tests may refer to each other."""
    high, at = limit.high, ProgramPoint(frame, limit.order, limit.arms)
    if high is None:
        return None
    kept = ("limit", id(high))
    known = frame.values.get(kept)
    if known is None:
        key = (id(frame.function), "limit", limit.order)
        known = interpreter.evaluations.guard(key, lambda: interpreter.number(high, at), None)
        if known is not None:
            frame.values[kept] = known
    return known if isinstance(known, AbstractNumber) else None


def hint_one(number: AbstractNumber, function: Function) -> AbstractNumber:
    """Return `number`, an axis of an argument of `function`, with the hint that some caller has one item along it."""
    hints = apply_hints(AxisContext(is_one_for_some_caller=True), function.path, function.line)
    return number.add_hints(hints)._replace(one_for_some_caller=True)

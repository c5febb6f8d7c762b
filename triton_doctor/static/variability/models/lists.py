"""Lists that are built up: `sizes = []`, then `sizes.append(n)` in a loop."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Attr, BinaryOp, Call, IterItem, Name, TupleExpr, Unpacked, every_part
from triton_doctor.static.variability.models.host_tensors import item_store_pattern
from triton_doctor.static.variability.models.indexing import element
from triton_doctor.static.variability.values.lattice import UNKNOWN, join
from triton_doctor.static.variability.values.program_point import ProgramPoint
from triton_doctor.static.variability.values.tensors import ONE, whole_number
from triton_doctor.static.variability.values.values import ListValue, TupleValue, either

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from triton_doctor.static.python.function import Binding, BranchArm, CallSite, Function
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.lattice import AbstractNumber
    from triton_doctor.static.variability.values.program_point import CallFrame
    from triton_doctor.static.variability.values.values import Value

_ADDING = frozenset({"append", "extend"})
_LEAVING = frozenset({"copy", "index", "count", "sort", "reverse"})


def counted(count: Callable[[Iterable[int]], int], lengths: Sequence[AbstractNumber]) -> AbstractNumber:
    """Return the length that `count`, the sum or product, computes from `lengths`."""
    if len(lengths) == 1:
        return lengths[0]
    known = [one.literal for one in lengths if isinstance(one.literal, int)]
    if len(known) == len(lengths):
        return whole_number(count(known))
    most = [one.high for one in lengths if one.high is not None]
    return join(lengths)._replace(literal=..., high=count(most) if len(most) == len(lengths) else None)


def concatenate(interpreter: Interpreter, parts: Sequence[Value], frame: CallFrame) -> TupleValue | ListValue:
    """Return the items of the lists, one after the other."""
    tuples = [one for one in parts if isinstance(one, TupleValue)]
    if len(tuples) == len(parts):
        items = [partial(one.at, position) for one in tuples for position in range(one.count)]
        return TupleValue(items, is_open=any(one.open for one in tuples))
    parts = [one for one in parts if not isinstance(one, TupleValue) or one.count or one.open]
    lengths = [interpreter.length(one, frame) for one in parts]
    return ListValue(either([element(interpreter, one, frame) for one in parts]), counted(sum, lengths))


def filled(interpreter: Interpreter, binding: Binding, point: ProgramPoint) -> Value | None:
    """Return the list created by `binding` at `point`, with the items added later; None if unknown."""
    frame, name = point.frame, binding.name
    match binding.value:
        case BinaryOp("+", (Name(grown), _)) if grown == name and _comes_round(binding, frame.function):
            value = interpreter.value(binding.value, point)
            is_list = isinstance(value, TupleValue | ListValue)
            return ListValue(element(interpreter, value, frame), UNKNOWN) if is_list else value
        case TupleExpr() | Call(Name("list"), (), ()):
            sites = _sites(frame.function, name)
        case _:
            return None
    if not sites:
        return None
    made = interpreter.value(binding.value, point) if isinstance(binding.value, TupleExpr) else TupleValue(())
    whole = concatenate(interpreter, [made, *[_added(interpreter, site, binding, frame) for site in sites]], frame)
    if len(sites) > 1 and len(frame.function.bindings[name]) > 1:
        return ListValue(element(interpreter, whole, frame), UNKNOWN)  # the order of additions is not known
    return whole


def _comes_round(binding: Binding, function: Function) -> bool:
    """Return whether a loop returns to `binding` without an earlier assignment of the same name."""
    others = [one.arms for one in function.bindings[binding.name] if one is not binding]
    return any(arm.loop and not any(arm in arms for arms in others) for arm in binding.arms)


def _sites(function: Function, name: str) -> Sequence[CallSite]:
    """Return the calls that add to the list `name`; empty if a method changes it otherwise."""
    found = []
    for site in function.calls:
        match site.call.func:
            case Attr(Name(base), method) if base == name:
                if method in _ADDING and len(site.call.args) == 1:
                    found.append(site)
                elif method not in _LEAVING:
                    return ()
            case _:
                pass
    return found


def _added(interpreter: Interpreter, site: CallSite, binding: Binding, frame: CallFrame) -> TupleValue | ListValue:
    """Return what the call at `site` adds to the list of `binding`, in all turns of the loops around it."""
    (arg,) = site.call.args
    point = ProgramPoint(frame, site.order, site.arms, line=site.line)
    assert isinstance(site.call.func, Attr)
    extends = site.call.func.name == "extend"
    # An added item may be reassigned later: then nothing is known of it.
    is_set = any(
        isinstance(one, Name) and frame.function.matches(item_store_pattern(one.id)) for one in every_part(arg)
    )
    value = interpreter.value(arg, point) if extends or not is_set else UNKNOWN
    length = interpreter.length(value, frame) if extends else ONE
    if extends:
        value = UNKNOWN if is_set else element(interpreter, value, frame)
    inner = [arm for arm in site.arms if arm not in binding.arms]
    if not inner and not extends:
        return TupleValue([value])
    turns = _turns(interpreter, inner, frame)
    return ListValue(value, UNKNOWN if turns is None else counted(prod, [*turns, *([length] if extends else [])]))


def _turns(interpreter: Interpreter, arms: Sequence[BranchArm], frame: CallFrame) -> Sequence[AbstractNumber] | None:
    """Return the number of turns of each of the loops `arms`; None if something else decides."""
    lengths: dict[BranchArm, AbstractNumber] = {}
    for bound in (one for every in frame.function.bindings.values() for one in every):
        match bound.value:
            case IterItem(source) | Unpacked(IterItem(source)) if bound.arms and bound.arms[-1] in arms:
                value = interpreter.value(source, ProgramPoint(frame, bound.order, bound.arms))
                lengths[bound.arms[-1]] = interpreter.length(value, frame)
            case _:
                pass
    return list(lengths.values()) if len(lengths) == len(arms) and all(arm.loop for arm in arms) else None

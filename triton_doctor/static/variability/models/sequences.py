"""Lists that are built up, reductions over sequences, `range(n)`, and calls with several results."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from triton_doctor.static.python.bounds import bounds_of_integers
from triton_doctor.static.python.ir import (
    Attr,
    BinaryOp,
    Call,
    Comprehension,
    ComprehensionLoop,
    Const,
    Expr,
    IterItem,
    Lambda,
    Name,
    TupleExpr,
    Unpacked,
    every_part,
    final_name,
)
from triton_doctor.static.variability.models.host_tensors import item_store_pattern
from triton_doctor.static.variability.models.indexing import element
from triton_doctor.static.variability.models.origins import from_data
from triton_doctor.static.variability.models.torch_results import combined
from triton_doctor.static.variability.values import tensors
from triton_doctor.static.variability.values.arithmetic import apply, logarithm
from triton_doctor.static.variability.values.lattice import (
    HANDFUL,
    UNKNOWN,
    AbstractNumber,
    Variability,
    join,
)
from triton_doctor.static.variability.values.tensors import ONE, whole_number
from triton_doctor.static.variability.values.values import (
    ListValue,
    ProgramPoint,
    Shape,
    SymbolicValue,
    Tensor,
    TupleValue,
    Value,
    either,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from triton_doctor.static.python.function import (
        Binding,
        BranchArm,
        CallSite,
        Function,
    )
    from triton_doctor.static.variability.values.evaluator import Evaluator
    from triton_doctor.static.variability.values.values import CallFrame

_ADDING = frozenset({"append", "extend"})
_LEAVING = frozenset({"copy", "index", "count", "sort", "reverse"})


def counted(count: Callable[[Iterable[int]], int], lengths: Sequence[AbstractNumber]) -> AbstractNumber:
    """Return the length that `count`, the sum or product, computes from `lengths`."""
    if len(lengths) == 1:
        return lengths[0]
    known = [length.literal for length in lengths if isinstance(length.literal, int)]
    if len(known) == len(lengths):
        return whole_number(count(known))
    most = [length.high for length in lengths if length.high is not None]
    return join(lengths)._replace(literal=..., high=count(most) if len(most) == len(lengths) else None)


def concatenate(evaluator: Evaluator, parts: Sequence[Value], frame: CallFrame) -> TupleValue | ListValue:
    """Return the items of the lists, one after the other."""
    tuples = [part for part in parts if isinstance(part, TupleValue)]
    if len(tuples) == len(parts):
        items = [partial(display.at, position) for display in tuples for position in range(display.count)]
        return TupleValue(items, is_open=any(display.open for display in tuples))
    parts = [part for part in parts if not isinstance(part, TupleValue) or part.count or part.open]
    lengths = [evaluator.length(part, frame) for part in parts]
    return ListValue(either([element(evaluator, part, frame) for part in parts]), counted(sum, lengths))


def filled(evaluator: Evaluator, binding: Binding, point: ProgramPoint) -> Value | None:
    """Return the list created by `binding` at `point`, with the items added later; None if unknown."""
    frame, name = point.frame, binding.name
    match binding.value:
        case BinaryOp("+", (Name(grown), _)) if grown == name and _comes_round(binding, frame.function):
            value = evaluator.value(binding.value, point)
            is_list = isinstance(value, TupleValue | ListValue)
            return ListValue(element(evaluator, value, frame), UNKNOWN) if is_list else value
        case BinaryOp("*" | "<<", (Name(grown), Const(int()))) if grown == name and _comes_round(
            binding, frame.function
        ):
            return _doubled(evaluator, binding, frame)
        case TupleExpr() | Call(Name("list"), (), ()):
            sites = _sites(frame.function, name)
        case _:
            return None
    if not sites:
        return None
    made = evaluator.value(binding.value, point) if isinstance(binding.value, TupleExpr) else TupleValue(())
    whole = concatenate(evaluator, [made, *[_added(evaluator, site, binding, frame) for site in sites]], frame)
    if len(sites) > 1 and len(frame.function.bindings[name]) > 1:
        return ListValue(element(evaluator, whole, frame), UNKNOWN)  # the order of additions is not known
    return whole


def _doubled(evaluator: Evaluator, binding: Binding, frame: CallFrame) -> AbstractNumber:
    """Return a number that a loop multiplies: it has as many values as the loop has turns."""
    limits = bounds_of_integers(frame.function).get(binding.name, ())
    ends = [limit.high for limit in limits if limit.arms == binding.arms and limit.high is not None]
    turns = _turns(evaluator, binding.arms[-1:], frame)
    if not turns and ends:
        turns = [evaluator.number(ends[0], ProgramPoint(frame, binding.order, binding.arms))]
    return logarithm(join(turns))._replace(size=None, literal=...) if turns else UNKNOWN


def _comes_round(binding: Binding, function: Function) -> bool:
    """Return whether a loop returns to `binding` without an earlier assignment of the same name."""
    others = [rebinding.arms for rebinding in function.bindings[binding.name] if rebinding is not binding]
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


def _added(evaluator: Evaluator, site: CallSite, binding: Binding, frame: CallFrame) -> TupleValue | ListValue:
    """Return what the call at `site` adds to the list of `binding`, in all turns of the loops around it."""
    (arg,) = site.call.args
    point = ProgramPoint(frame, site.order, site.arms, line=site.line)
    assert isinstance(site.call.func, Attr)
    extends = site.call.func.name == "extend"
    # An added item may be reassigned later: then nothing is known of it.
    is_set = any(
        isinstance(part, Name) and frame.function.matches(item_store_pattern(part.id)) for part in every_part(arg)
    )
    value = evaluator.value(arg, point) if extends or not is_set else UNKNOWN
    length = evaluator.length(value, frame) if extends else ONE
    if extends:
        value = UNKNOWN if is_set else element(evaluator, value, frame)
    inner = [arm for arm in site.arms if arm not in binding.arms]
    if not inner and not extends:
        return TupleValue([value])
    turns = _turns(evaluator, inner, frame)
    return ListValue(value, UNKNOWN if turns is None else counted(prod, [*turns, *([length] if extends else [])]))


def _turns(evaluator: Evaluator, arms: Sequence[BranchArm], frame: CallFrame) -> Sequence[AbstractNumber] | None:
    """Return the number of turns of each of the loops `arms`; None if something else decides."""
    lengths: dict[BranchArm, AbstractNumber] = {}
    for bound in (binding for every in frame.function.bindings.values() for binding in every):
        match bound.value:
            case IterItem(source) | Unpacked(IterItem(source)) if bound.arms and bound.arms[-1] in arms:
                value = evaluator.value(source, ProgramPoint(frame, bound.order, bound.arms))
                lengths[bound.arms[-1]] = evaluator.length(value, frame)
            case _:
                pass
    return list(lengths.values()) if len(lengths) == len(arms) and all(arm.loop for arm in arms) else None


def multiplied(evaluator: Evaluator, value: Value, point: ProgramPoint) -> Value:
    """Return the product of all items of `value`."""
    match value:
        case Shape(of):
            return evaluator.numel(of, point.frame)
        case TupleValue(items, False):
            parts = [evaluator.numel(part.of, point.frame) if isinstance(part, Shape) else part for part in items]
            return tensors.product([evaluator.as_number(part, point.frame) for part in parts])
        case ListValue(content, length):
            return join([evaluator.as_number(content, point.frame), length])._replace(size=None, literal=...)
        case _:
            return UNKNOWN


def multiplies(function: Expr) -> bool:
    """Return whether it is `operator.mul` or `lambda a, b: a * b`."""
    match function:
        case Lambda((first, other), BinaryOp("*", (Name(left), Name(right)))):
            return {first, other} == {left, right}
        case _:
            return final_name(function) == "mul"


def summed(evaluator: Evaluator, value: Value, point: ProgramPoint) -> Value:
    """Return the sum of all items of `value`."""
    match value:
        case TupleValue(items, _):
            return join([evaluator.as_number(summand, point.frame) for summand in items])
        case ListValue(content, length):
            return join([evaluator.as_number(content, point.frame), length])
        case SymbolicValue():
            content = evaluator.as_number(element(evaluator, value, point.frame), point.frame)
            return UNKNOWN.with_integrality(is_integer=content.is_integer)
        case _:
            return UNKNOWN


def number_range(bounds: list[AbstractNumber]) -> ListValue:
    """Return `range(...)`: as many items as its bounds say, which change as often as these."""
    joined = join(bounds)
    if len(bounds) == 3 and bounds[2].literal is ...:
        # A range in steps of a launch's maximum rarely has more than one item.
        return ListValue(item=UNKNOWN._replace(is_integer=True, trail=joined.trail), length=joined)
    if joined.kind is Variability.FIXED:
        first, last = (0, bounds[0].literal) if len(bounds) == 1 else (bounds[0].literal, bounds[1].literal)
        step = bounds[2].literal if len(bounds) == 3 else 1
        if isinstance(first, int) and isinstance(last, int):
            kind = Variability.FEW if last - first <= HANDFUL else Variability.PER_CALL
            item = AbstractNumber(kind=kind, low=first, high=max(last - 1, first), is_integer=True)
            length = whole_number(max(-((first - last) // step), 0)) if isinstance(step, int) and step else joined
            return ListValue(item=item, length=length)
    item = joined._replace(literal=..., size=None, low=None, high=None, is_integer=True, literals=())
    return ListValue(item=item, length=joined)


SEVERAL = frozenset({"divmod", "map", "product", "broadcast_tensors", "where"})
_NUMBERS = frozenset({"int", "float"})
# The item that `map` passes to a function; not a valid name in a program.
_MAPPED = Name("<item>")


def several(evaluator: Evaluator, name: str, call: Call, point: ProgramPoint) -> Value | None:
    """Return the results of a function called `name`, one of SEVERAL; None if unknown."""
    match name, call.args:
        case "divmod", (over, under):
            numbers = [evaluator.number(over, point), evaluator.number(under, point)]
            return TupleValue([apply("//", numbers), apply("%", numbers)])
        case "map", (Name(function), items) if function in _NUMBERS:
            return evaluator.value(items, point)
        case "map", (Lambda((_,) as names, body), items):
            return evaluator.value(Comprehension(body, (ComprehensionLoop(names, items, False),)), point)
        case "map", (Name() | Attr() as function, items):
            body = Call(function, (_MAPPED,), ())
            return evaluator.value(Comprehension(body, (ComprehensionLoop((_MAPPED.id,), items, False),)), point)
        case "product", sources if not call.keywords:
            values = [evaluator.value(source, point) for source in sources]
            parts = [element(evaluator, value, point.frame) for value in values]
            return ListValue(
                TupleValue(parts), counted(prod, [evaluator.length(value, point.frame) for value in values])
            )
        case "broadcast_tensors", args:
            tensors = [
                given for arg in args if isinstance(given := evaluator.value(arg, point), Tensor | SymbolicValue)
            ]
            return TupleValue([combined(tensors)] * len(args)) if len(tensors) == len(args) else None
        case "where", (condition,):  # a tensor of positions for each axis, as `nonzero` returns
            return ListValue(item=_found(condition, name, point), length=UNKNOWN)
        case _:
            return None


def found_items(name: str, call: Call, base: Expr, point: ProgramPoint) -> Value | None:
    """Return the tensors that `nonzero` or `unique` returns if asked for several; None if it returns one."""
    asked = [key for key, value in call.keywords if key is not None and value == Const(True)]
    positions = _found(base, name, point)
    if name == "nonzero" and "as_tuple" in asked:
        return ListValue(item=positions, length=UNKNOWN)
    if name == "unique" and any(key.startswith("return_") for key in asked):
        return TupleValue([positions] * (1 + sum(key.startswith("return_") for key in asked)))
    return None


def _found(base: Expr, name: str, point: ProgramPoint) -> Tensor:
    """Return a tensor with as many items as `name` finds in the data of `base`."""
    return Tensor(front=(from_data(base, name, point),), contiguous=True)

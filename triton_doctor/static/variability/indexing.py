"""Parts of values: `value[key]`, `a, b = value`, `for item in value`, `value.name`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Const, Expr, Slice, Subscript, TupleExpr, dotted
from triton_doctor.static.python.printing import spell
from triton_doctor.static.variability import tensors
from triton_doctor.static.variability.axis_context import AxisContext
from triton_doctor.static.variability.dims import DimProduct, Origin, RemainingDims
from triton_doctor.static.variability.hints import apply_hints
from triton_doctor.static.variability.lattice import FEW, FIXED, HANDFUL, UNKNOWN, AbstractNumber, Variability
from triton_doctor.static.variability.name_words import names_config, names_data, names_shape, names_weight
from triton_doctor.static.variability.origins import from_data
from triton_doctor.static.variability.slices import slice_length, sliced_at_the_end
from triton_doctor.static.variability.values import (
    DictValue,
    ListValue,
    Shape,
    Strides,
    SymbolicValue,
    Tensor,
    TupleValue,
    Union,
    Value,
    either,
)

if TYPE_CHECKING:
    from triton_doctor.static.variability.interpreter import Interpreter
    from triton_doctor.static.variability.program_point import CallFrame, ProgramPoint

_FEW_ATTRIBUTES = frozenset({"dtype", "requires_grad", "is_cuda", "type", "layout", "is_contiguous", "is_sparse"})
_SAME_SHAPE = frozenset({"data", "grad", "real", "imag"})


def attribute(flow: Interpreter, value: Value, name: str, base: Expr, place: ProgramPoint) -> Value:
    """`value.name`, where `value` is no object of the project."""
    match value:
        case Union(options):
            return either([attribute(flow, option, name, base, place) for option in options])
        case Tensor() | SymbolicValue():
            if name == "shape":
                return Shape(of=value)
            if name in _FEW_ATTRIBUTES:
                return FEW
            if name == "device":
                return FIXED
            if name == "ndim":
                return tensors.number_of_axes(value)
            if name in ("T", "mT", "H", "mH"):
                return tensors.swapped(value, -1, -2) if tensors.rank(value) != 2 else tensors.moved(value, (1, 0))
            if name in _SAME_SHAPE:
                return value
        case DictValue(items) if name in items:
            return items[name]
        case _:
            pass
    if name == "shape":
        frame = place.frame
        root = Origin(frame.module.path, frame.function.qualname, spell(base), frame.function.line, None, weight=False)
        return Shape(of=SymbolicValue(root=root, scalar=UNKNOWN))
    return _out_of_sight(value, name, base, place)


def _out_of_sight(value: Value, name: str, base: Expr, place: ProgramPoint) -> SymbolicValue:
    """An attribute of something that is not followed: settings last as the model does, others are not known."""
    spelled = f"{spell(base)}.{name}"
    owner = dotted(base) or ""
    frame = place.frame
    kept = isinstance(value, SymbolicValue) and value.scalar.kind in (Variability.PER_MODEL, Variability.FIXED)
    settings = names_config(owner)
    root = Origin(
        frame.module.path,
        frame.function.qualname,
        spelled,
        frame.function.line,
        None,
        weight=kept or settings or names_weight(spelled),
    )
    if name == "dtype":
        return SymbolicValue(root=root, scalar=FEW)
    if kept or settings:
        assert isinstance(value, SymbolicValue) or settings
        kind = value.scalar.kind if isinstance(value, SymbolicValue) and kept else Variability.PER_MODEL
        return SymbolicValue(root=root, scalar=AbstractNumber(kind=kind))
    named = AxisContext(name=name if names_data(name) else "")
    hints = apply_hints(named, frame.module.path, frame.function.line)
    return SymbolicValue(root=root, scalar=UNKNOWN.add_hints(hints))


def item(flow: Interpreter, value: Value, base: Expr, key: Expr, place: ProgramPoint) -> Value:
    """`value[key]`, spelled `base[key]`."""
    frame = place.frame
    match value, key:
        case Shape(of), Const(int(position)):
            return flow.axis(of, position, frame)
        case Strides(of), Const(int(position)):
            return flow.stride(of, position, frame)
        case Shape(of), Slice(lower, upper, None):
            return _shape_slice(of, lower, upper)
        case TupleValue(open=open_), Const(int(position)):
            return value.at(position) if -value.count <= position < value.count and not open_ else UNKNOWN
        case TupleValue(items, False), Slice(None, Const(int(high)), None):
            return TupleValue(items[:high])
        case TupleValue(items, False), Slice(Const(int(low)), None, None):
            return TupleValue(items[low:])
        case TupleValue(), _ if value.count:
            return either(value.items)
        case DictValue(items, _), Const(str(name)):
            return items.get(name, UNKNOWN)
        case DictValue(items, False), _ if items:
            return _one_of(list(items.values()))
        case ListValue(one, _), Const(int()):
            return one
        case SymbolicValue(root), Const(int(position)) if names_shape(root.name):
            return flow.part(value, position, max(position + 1, -position), True, frame) or UNKNOWN
        case ((Tensor() | SymbolicValue()), _):
            return _indexed(flow, value, base, key, place)
        case _:
            return UNKNOWN


def _one_of(values: list[Value]) -> Value:
    """A look-up in a small literal table gives one of a few."""
    found = either(values)
    return (
        found._replace(kind=Variability.FEW)
        if isinstance(found, AbstractNumber) and found.kind is Variability.FIXED
        else found
    )


def _shape_slice(of: Tensor | SymbolicValue, lower: Expr | None, upper: Expr | None) -> Value:
    low = lower.value if isinstance(lower, Const) else (0 if lower is None else None)
    high = upper.value if isinstance(upper, Const) else None
    if low == 0 and upper is not None and not isinstance(high, int):
        # Some of the first axes: their product holds the first, unless there are none.
        some = tensors.axis_at(of, 0)._replace(size=None)
        return Shape(of=Tensor(open=some))
    if not isinstance(low, int) or (upper is not None and not isinstance(high, int)):
        return UNKNOWN
    rank = tensors.rank(of)
    if rank is not None:
        axes = [tensors.axis_at(of, position) for position in range(rank)]
        return TupleValue(items=tuple(axes[low : high if isinstance(high, int) else None]))
    if isinstance(high, int) and high >= 0:
        start = max(low, 0)
        return TupleValue(items=tuple(tensors.axis_at(of, position) for position in range(start, high)))
    if low < 0:
        last = high if isinstance(high, int) else 0
        return TupleValue(items=tuple(tensors.axis_at(of, position) for position in range(low, last)))
    if isinstance(of, SymbolicValue):
        rest = RemainingDims(of.root, low, -high if isinstance(high, int) else 0)
        return Shape(of=Tensor(open=tensors.of_size(DimProduct((rest,)))))
    return UNKNOWN


def _indexed(flow: Interpreter, value: Tensor | SymbolicValue, base: Expr, key: Expr, place: ProgramPoint) -> Value:
    """`x[...]` of a tensor: a slice bounds its axis, an integer drops one; a thing may also be a list or a table."""
    keys = key.items if isinstance(key, TupleExpr) else (key,)
    if not any(isinstance(one, Slice) or one == Const(None) or one == Const(...) for one in keys):
        if isinstance(value, SymbolicValue):
            # An item of a list, or of a tensor without its first axis: nothing in it need follow the batch.
            root = replace(value.root.item_called(f"{value.root.name}[{spell(key)}]"), item=True)
            return SymbolicValue(root=root, scalar=value.scalar._replace(terms=frozenset()))
        if len(keys) == 1 and tensors.rank(value) == 1:
            return from_data(Subscript(base, key), None, place)
        if len(keys) == 1 and isinstance(keys[0], Const):
            return Tensor(front=value.front[1:], back=value.back, open=value.open)
        return Tensor(open=UNKNOWN)
    if Const(...) in keys:
        return sliced_at_the_end(flow, value, keys, place) if keys[0] == Const(...) else Tensor(open=UNKNOWN)
    front: list[AbstractNumber] = []
    position = 0
    for one in keys:
        match one:
            case Slice(None, None, None):
                front.append(tensors.axis_at(value, position))
                position += 1
            case Slice(None | Const(0), upper, None) if upper is not None:
                front.append(flow.scalar(upper, place))
                position += 1
            case Slice():
                front.append(slice_length(flow, tensors.axis_at(value, position), one, place))
                position += 1
            case Const(None):
                front.append(tensors.ONE)
            case _:
                position += 1
    rank = tensors.rank(value)
    if rank is None:
        return Tensor(front=tuple(front), open=UNKNOWN)
    front.extend(tensors.axis_at(value, left) for left in range(position, rank))
    return Tensor(front=tuple(front))


def part(
    flow: Interpreter, value: Value, position: int | None, size: int, open_: bool, frame: CallFrame
) -> Value | None:
    """What unpacking into `size` targets gives the one at `position`; None where it cannot be of that size."""
    match value:
        case Shape(of):
            rank = tensors.rank(of)
            if rank is not None and rank != size and not open_:
                return None
            if position is None:
                return UNKNOWN
            if not open_:
                of = tensors.of_rank(of, size)
            if isinstance(of, Tensor) and not open_ and 0 <= size - position <= len(of.back):
                position -= size  # now that the rank is known: `x.unsqueeze(-1)` unpacked into three ends with a 1
            return flow.axis(of, position, frame)
        case Strides(of):
            rank = tensors.rank(of)
            if rank is not None and rank != size and not open_:
                return None
            return (
                UNKNOWN
                if position is None
                else flow.stride(of if open_ else tensors.of_rank(of, size), position, frame)
            )
        case TupleValue(open=False):
            count = value.count
            if count == 1 and value.starred is not None:
                return part(flow, value.at(0), position, size, open_, frame)
            if position is None:
                return TupleValue(value.items[: count - size], is_open=True)
            if value.starred is not None:
                return _after_shape(flow, value, value.starred, position, size, frame)
            if (count != size and not open_) or not -count <= position < count:
                return None
            return value.at(position)
        case ListValue(one, _):
            return one
        case Union(options):
            found = [part(flow, option, position, size, open_, frame) for option in options]
            return either([one for one in found if one is not None])
        case SymbolicValue(root, scalar, _):
            return SymbolicValue(root=root.item_called(f"{root.name}[{position}]"), scalar=scalar)
        case _:
            return UNKNOWN


def _after_shape(
    flow: Interpreter, items: TupleValue, starred: int, position: int, size: int, frame: CallFrame
) -> Value:
    """`B, T, H, K, V = *k.shape, v.shape[-1]`: the starred shape has as many axes as the others leave."""
    shape = items.at(starred)
    assert isinstance(shape, Shape)
    rank = size - (items.count - 1)
    index = position if position >= 0 else size + position
    if index < starred:
        return items.at(index)
    if index >= starred + rank:
        return items.at(index - rank + 1)
    return flow.axis(tensors.of_rank(shape.of, rank), index - starred, frame)


def element(flow: Interpreter, value: Value, frame: CallFrame) -> Value:
    """What a loop over `value` gives its target."""
    match value:
        case TupleValue() if value.count:
            found = either(value.items)
            if isinstance(found, AbstractNumber) and found.kind is Variability.FEW and value.count > HANDFUL:
                return found._replace(kind=Variability.PER_CALL, low=1, high=value.count)
            return found
        case ListValue(one, _):
            return one
        case SymbolicValue(root, scalar, _):
            inner = root.item_called(f"{root.name}[i]")
            return SymbolicValue(root=inner, scalar=scalar._replace(terms=frozenset()))
        case Union(options):
            return either([element(flow, option, frame) for option in options])
        case AbstractNumber():
            return value
        case _:
            return UNKNOWN

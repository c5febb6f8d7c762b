"""Parts of values: `value[key]`, `a, b = value`, `for item in value`, `value.name`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import (
    Attr,
    Const,
    Expr,
    Name,
    Slice,
    Subscript,
    TupleExpr,
    dotted,
)
from triton_doctor.static.python.printing import spell
from triton_doctor.static.variability.hints.axis_context import AxisContext
from triton_doctor.static.variability.hints.hints import apply_hints
from triton_doctor.static.variability.hints.name_words import (
    names_config,
    names_data,
    names_model,
    names_shape,
    names_weight,
)
from triton_doctor.static.variability.models.host_tensors import with_contents
from triton_doctor.static.variability.models.lengths import is_used_as_tensor, slice_length
from triton_doctor.static.variability.models.origins import from_data
from triton_doctor.static.variability.models.torch_arguments import axis_number
from triton_doctor.static.variability.values import tensors, views
from triton_doctor.static.variability.values.dims import Origin
from triton_doctor.static.variability.values.lattice import (
    FEW,
    FIXED,
    HANDFUL,
    UNKNOWN,
    AbstractNumber,
    Variability,
)
from triton_doctor.static.variability.values.values import (
    ArgumentItem,
    AxisOrder,
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
    from collections.abc import Sequence

    from triton_doctor.static.variability.values.evaluator import Evaluator
    from triton_doctor.static.variability.values.values import CallFrame, ProgramPoint

_FEW_ATTRIBUTES = frozenset({"dtype", "requires_grad", "is_cuda", "type", "layout", "is_contiguous", "is_sparse"})
_LISTS = frozenset({"list", "List", "tuple", "Tuple", "Sequence"})
# The fields of the result of `x.max(dim)`.
_RESULTS = ("values", "indices")
_SAME_SHAPE = frozenset({"data", "grad", "real", "imag"})
_SWAPPED = frozenset({"T", "mT", "H", "mH"})
# Attributes of tensors that are modelled; project objects have others.
OF_TENSORS = _FEW_ATTRIBUTES | _SAME_SHAPE | _SWAPPED | {"shape", "device", "ndim"}


def attribute(evaluator: Evaluator, value: Value, name: str, base: Expr, point: ProgramPoint) -> Value:
    """Return `value.name` for a value that is no object of the project."""
    match value:
        case Union(options):
            return either([attribute(evaluator, option, name, base, point) for option in options])
        case Tensor() | SymbolicValue():
            if name == "shape":
                return Shape(of=value)
            if name in _FEW_ATTRIBUTES:
                return FEW
            if name == "device":
                return FIXED
            if name == "ndim":
                return tensors.number_of_axes(value)
            if name in _SWAPPED:
                return views.swapped(value, -1, -2) if tensors.rank(value) != 2 else views.moved(value, (1, 0))
            if name in _SAME_SHAPE:
                return value
        case DictValue(items) if name in items:
            return items[name]
        case TupleValue(open=False) if value.count == len(_RESULTS) and name in _RESULTS:
            return value.at(_RESULTS.index(name))
        case _:
            pass
    if name == "shape":
        frame = point.frame
        root = Origin(frame.module.path, frame.function.qualname, spell(base), frame.function.line, None, weight=False)
        return Shape(of=SymbolicValue(root=root, number=UNKNOWN))
    return _out_of_sight(value, name, base, point)


def _out_of_sight(value: Value, name: str, base: Expr, point: ProgramPoint) -> SymbolicValue:
    """Return an attribute that is not followed: PER_MODEL for settings, else unknown."""
    spelled = f"{spell(base)}.{name}"
    owner = dotted(base) or ""
    frame = point.frame
    kept = isinstance(value, SymbolicValue) and value.number.kind in (Variability.PER_MODEL, Variability.FIXED)
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
        return SymbolicValue(root=root, number=FEW)
    if kept or settings:
        assert isinstance(value, SymbolicValue) or settings
        kind = value.number.kind if isinstance(value, SymbolicValue) and kept else Variability.PER_MODEL
        return SymbolicValue(root=root, number=AbstractNumber(kind=kind))
    named = AxisContext(name=name if names_data(name) else "")
    hints = apply_hints(named, frame.module.path, frame.function.line)
    return SymbolicValue(root=root, number=UNKNOWN.add_hints(hints))


def item(evaluator: Evaluator, value: Value, base: Expr, key: Expr, point: ProgramPoint) -> Value:
    """Return `value[key]`, spelled `base[key]`."""
    frame = point.frame
    match value, key:
        case Shape(of), Slice(_, _, None):
            return _shape_slice(evaluator, of, key, point)
        case Shape(of) | Strides(of), _ if (position := axis_number(evaluator, key, point)) is not None:
            return (evaluator.axis if isinstance(value, Shape) else evaluator.stride)(of, position, frame)
        case TupleValue(open=open_), Const(int(position)):
            return value.at(position) if -value.count <= position < value.count and not open_ else UNKNOWN
        case TupleValue(items, False), Slice(None, Const(int(high)), None):
            return TupleValue(items[:high])
        case TupleValue(items, False), Slice(Const(int(low)), None, None):
            return TupleValue(items[low:])
        case TupleValue(), _ if value.count:
            return either(value.items)
        case DictValue(items, _), Const(str(name)):
            return items[name] if name in items else _stored_here(evaluator, base, name, point) or UNKNOWN
        case DictValue(items, False), _ if items:
            return _one_of(list(items.values()))
        case ListValue(content, _), Const(int()):
            return content
        case SymbolicValue(root), Const(int(position)) if names_shape(root.name):
            return evaluator.part(value, position, max(position + 1, -position), True, frame) or UNKNOWN
        case SymbolicValue(), Const(int(position)) if _is_list(value):
            return part(evaluator, value, position, 1, False, frame) or UNKNOWN
        case ((Tensor() | SymbolicValue()), _):
            return indexed(evaluator, value, base, key, point)
        case _:
            return UNKNOWN


def _stored_here(evaluator: Evaluator, owner: Expr, name: str, point: ProgramPoint) -> Value | None:
    """Return `owner.name` or `owner[name]` as the function stores it before `point`; None if it does not."""
    values = [
        evaluator.value(stored.value, point._replace(order=stored.order, line=stored.line))
        for stored in point.frame.function.stored
        if Name(stored.base) == owner and stored.name == name and stored.order < point.order
    ]
    return either(values) if values else None


def _one_of(values: list[Value]) -> Value:
    """Return the result of a lookup in a small literal table: one of a few."""
    found = either(values)
    return (
        found._replace(kind=Variability.FEW)
        if isinstance(found, AbstractNumber) and found.kind is Variability.FIXED
        else found
    )


def _shape_slice(evaluator: Evaluator, of: Tensor | SymbolicValue, key: Slice, point: ProgramPoint) -> Value:
    """Return `x.shape[low:high]`."""
    low = 0 if key.lower is None else axis_number(evaluator, key.lower, point)
    high = axis_number(evaluator, key.upper, point)
    frame = point.frame
    if low is None or (high is None and key.upper is not None):
        if key.lower is None or low == 0:
            # A prefix of the axes: its product contains the first axis, unless it is empty.
            first = tensors.axis_at(of, 0)
            return Shape(of=Tensor(open=first._replace(size=None) if first.suggests_data else UNKNOWN))
        return UNKNOWN
    return _axes_between(evaluator, of, low, high, frame)


def _axes_between(
    evaluator: Evaluator, of: Tensor | SymbolicValue, low: int, high: int | None, frame: CallFrame
) -> Value:
    """Return the axes `low:high`; a shape if their number is unknown."""
    rank = tensors.rank(of)
    if rank is not None:
        chosen = range(rank)[low:high]
    elif high is not None and high >= 0:
        chosen = range(max(low, 0), high)
    elif low < 0:
        chosen = range(low, high if high is not None else 0)
    else:
        bare = views.expose(of, low, -high if high is not None else 0)
        if bare is None:
            return UNKNOWN
        back = bare.back[: len(bare.back) + high] if high is not None else bare.back
        return Shape(of=Tensor(front=bare.front[low:], open=bare.open, back=back))
    return TupleValue([partial(evaluator.axis, of, position, frame) for position in chosen])


def starred(evaluator: Evaluator, value: Value, before: int, after: int, frame: CallFrame) -> Value:
    """Return the value of `*rest` with `before` targets before it and `after` targets after it."""
    match value:
        case Shape(of):
            return _axes_between(evaluator, of, before, -after if after else None, frame)
        case TupleValue(open=False) if value.count == 1 and value.starred is not None:
            return starred(evaluator, value.at(0), before, after, frame)
        case TupleValue(open=False) if value.starred is None:
            return TupleValue(value.items[before : value.count - after])
        case ListValue():
            return value
        case Union(options):
            return either([starred(evaluator, option, before, after, frame) for option in options])
        case _:
            return UNKNOWN


def part(evaluator: Evaluator, value: Value, position: int, size: int, open_: bool, frame: CallFrame) -> Value | None:
    """Return the target at `position` of an unpacking into `size` targets; None if the sizes do not fit."""
    match value:
        case Shape(of):
            rank = tensors.rank(of)
            if rank is not None and rank != size and not open_:
                return None
            if not open_:
                of = views.of_rank(of, size)
            if isinstance(of, Tensor) and not open_ and 0 <= size - position <= len(of.back):
                position -= size  # the rank is known here: `x.unsqueeze(-1)` unpacked into three ends with a 1
            return evaluator.axis(of, position, frame)
        case Strides(of):
            rank = tensors.rank(of)
            if rank is not None and rank != size and not open_:
                return None
            return evaluator.stride(of if open_ else views.of_rank(of, size), position, frame)
        case TupleValue(open=False):
            count = value.count
            if count == 1 and value.starred is not None:
                return part(evaluator, value.at(0), position, size, open_, frame)
            if value.starred is not None:
                return _after_shape(evaluator, value, value.starred, position, size, frame)
            if (count != size and not open_) or not -count <= position < count:
                return None
            return value.at(position)
        case ListValue(content, _):
            return content
        case Tensor():
            return views.with_axes(value, 0, (), replaced=True) if tensors.rank(value) != 1 else UNKNOWN
        case Union(options):
            found = [part(evaluator, option, position, size, open_, frame) for option in options]
            return either([target for target in found if target is not None])
        case SymbolicValue(root, number, _):
            named = root.item_called(f"{root.name}[{position}]")
            return item_of_argument(value, None if open_ else position)._replace(
                root=named, number=number.without_literals()
            )
        case _:
            return UNKNOWN


def _after_shape(
    evaluator: Evaluator, items: TupleValue, starred: int, position: int, size: int, frame: CallFrame
) -> Value:
    """Return a target of `B, T, K, V = *k.shape, v.shape[-1]`: the starred shape has the axes that are left."""
    shape = items.at(starred)
    assert isinstance(shape, Shape)
    rank = size - (items.count - 1)
    index = position if position >= 0 else size + position
    if index < starred:
        return items.at(index)
    if index >= starred + rank:
        return items.at(index - rank + 1)
    return evaluator.axis(views.of_rank(shape.of, rank), index - starred, frame)


def item_of_argument(symbol: SymbolicValue, position: int | None) -> SymbolicValue:
    """Return an item of `symbol`, which callers may resolve if it is a parameter."""
    if symbol.origin is None or symbol.held is not None:
        return SymbolicValue(root=symbol.root, number=symbol.number)
    held = ArgumentItem(symbol.root.name, position)
    return SymbolicValue(symbol.root, symbol.number, symbol.origin, held=held, excluded_callers=symbol.excluded_callers)


def _is_list(symbol: SymbolicValue) -> bool:
    """Return whether it is a parameter annotated as a list or tuple."""
    params = symbol.origin.params if symbol.origin is not None and symbol.held is None else ()
    return any(param.name == symbol.root.name and param.annotation in _LISTS for param in params)


def element(evaluator: Evaluator, value: Value, frame: CallFrame) -> Value:
    """Return the value of the target of a loop over `value`."""
    match value:
        case TupleValue() if value.count:
            found = either(value.items)
            if isinstance(found, AbstractNumber) and found.kind is Variability.FEW and value.count > HANDFUL:
                return found._replace(kind=Variability.PER_CALL, low=1, high=value.count)
            return found
        case ListValue(content, _):
            return content
        case SymbolicValue(root, number, origin):
            inner = root.item_called(f"{root.name}[i]")
            items = next((param.items for param in origin.params if param.name == root.name), None) if origin else None
            content = number._replace(terms=frozenset(), is_integer=items == "int", literals=())
            return item_of_argument(value, None)._replace(root=inner, number=content)
        case Tensor() if tensors.rank(value) != 1:
            return views.with_axes(value, 0, (), replaced=True) or UNKNOWN
        case Union(options):
            return either([element(evaluator, option, frame) for option in options])
        case AbstractNumber():
            return value
        case _:
            return UNKNOWN


def keeps_items(expr: Expr, options: Sequence[Value]) -> bool:
    """Return whether `expr`, one of `options`, has its original items; a name or attribute only if it is a shape."""
    return not isinstance(expr, Name | Attr) or all(isinstance(option, Shape | Strides) for option in options)


_ELLIPSIS = Const(...)
_NEW_AXIS = Const(None)
_WHOLE = Slice(None, None, None)


def indexed(evaluator: Evaluator, value: Tensor | SymbolicValue, base: Expr, key: Expr, point: ProgramPoint) -> Value:
    """Return `value[key]`, spelled `base[key]`; a symbolic value may also be a list or a table."""
    found = _indexed(evaluator, value, base, key, point)
    return with_contents(found, "", [value]) if value.contents is not None else found


def _indexed(evaluator: Evaluator, value: Tensor | SymbolicValue, base: Expr, key: Expr, point: ProgramPoint) -> Value:
    keys = key.items if isinstance(key, TupleExpr) else (key,)
    if len(keys) == 1 and isinstance(key, Name) and (rows := _gathered(evaluator, value, key, point)) is not None:
        return rows
    if not any(isinstance(index, Slice) or index in (_NEW_AXIS, _ELLIPSIS) for index in keys):
        is_shown = isinstance(value, SymbolicValue) and value.root.shown_rank is not None
        if isinstance(value, SymbolicValue) and not (is_shown and all(isinstance(index, Const) for index in keys)):
            # An item of a list, or of a state: nothing in it has to follow the batch, as what is left of an input does.
            root = value.root.item_called(f"{value.root.name}[{spell(key)}]")
            root = replace(root, item=names_model(value.root.name) or not is_used_as_tensor(value))
            return SymbolicValue(root=root, number=value.number._replace(terms=frozenset(), literals=()))
        if len(keys) == 1 and tensors.rank(value) == 1:
            return Tensor() if value.contents is not None else from_data(Subscript(base, key), None, point)
        if not all(isinstance(index, Const) for index in keys):
            return Tensor(open=UNKNOWN)
    at = keys.index(_ELLIPSIS) if _ELLIPSIS in keys else len(keys)
    before, after = keys[:at], keys[at + 1 :]
    front, back = _count(before), _count(after)
    bare = views.expose(value, front, back)
    if bare is None:
        return Tensor(open=UNKNOWN)
    head, tail = bare.front, bare.back
    if bare.open is None:
        end = len(head) - back
        if end < front:
            return Tensor(open=UNKNOWN)
        head, tail = head[:end], head[end:]
    first = _Axes(evaluator, point, before, 0).of(head[:front])
    middle = [(axis, position) for position, axis in enumerate(head[front:], start=front)]
    if bare.open is None:
        last = _Axes(evaluator, point, after, len(head)).of(tail)
        every = [*first, *middle, *last]
        order = tuple((position, source) for position, (_, source) in enumerate(every))
        return Tensor(front=tuple(axis for axis, _ in every), moved=AxisOrder(value, order))
    last = _Axes(evaluator, point, after, -back).of(tail[len(tail) - back :])
    stays = all(isinstance(index, Slice) and index.step is None for index in (*before, *after))
    return Tensor(
        front=tuple(axis for axis, _ in (*first, *middle)),
        open=bare.open,
        back=(*tail[: len(tail) - back], *(axis for axis, _ in last)),
        moved=AxisOrder(value, (), rest_stays=True) if stays else None,
    )


def _gathered(evaluator: Evaluator, value: Tensor | SymbolicValue, key: Name, point: ProgramPoint) -> Tensor | None:
    """Return `value[rows]` for a tensor `rows` of row numbers: as many rows as it has; None for other keys."""
    count = _row_count(evaluator, key, point)
    found = views.with_axes(value, 0, (count,), replaced=True) if count is not None else None
    return found._replace(contiguous=True, moved=None) if found is not None else None


def _row_count(evaluator: Evaluator, key: Expr, point: ProgramPoint) -> AbstractNumber | None:
    """Return how many rows `key` chooses, if it is a name for a tensor of row numbers; else None."""
    rows = evaluator.value(key, point) if isinstance(key, Name) else None
    if not isinstance(rows, Tensor | SymbolicValue) or tensors.rank(rows) != 1:
        return None
    return evaluator.axis(rows, 0, point.frame)


def _count(keys: Sequence[Expr]) -> int:
    """Return the number of axes that `keys` consume."""
    return sum(key != _NEW_AXIS for key in keys)


class _Axes:
    """What `keys` leave of the axes, starting at axis `start`."""

    def __init__(self, evaluator: Evaluator, point: ProgramPoint, keys: Sequence[Expr], start: int) -> None:
        """Nothing is evaluated yet."""
        self._interpreter = evaluator
        self._point = point
        self._keys = keys
        self._start = start

    def of(self, axes: Sequence[AbstractNumber]) -> list[tuple[AbstractNumber, int | None]]:
        """Return the axes that remain of `axes`, each with the position whose stride it keeps."""
        found: list[tuple[AbstractNumber, int | None]] = []
        at = 0
        is_only_name = sum(isinstance(key, Name) for key in self._keys) == 1
        for key in self._keys:
            if key == _NEW_AXIS:
                found.append((tensors.ONE, None))
                continue
            if isinstance(key, Slice):
                position = self._start + at if key.step is None else None
                length = axes[at] if key == _WHOLE else slice_length(self._interpreter, axes[at], key, self._point)
                found.append((length, position))
            elif is_only_name and (count := _row_count(self._interpreter, key, self._point)) is not None:
                found.append((count, None))
            at += 1
        return found

"""`x[key]` of a tensor: a slice shortens its axis, an integer drops one, None adds one, and `...` skips the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Const, Name, Slice, Subscript, TupleExpr
from triton_doctor.static.python.printing import spell
from triton_doctor.static.variability.models.host_tensors import with_contents
from triton_doctor.static.variability.models.origins import from_data
from triton_doctor.static.variability.models.slices import slice_length
from triton_doctor.static.variability.values import tensors, views
from triton_doctor.static.variability.values.lattice import UNKNOWN
from triton_doctor.static.variability.values.values import AxisOrder, SymbolicValue, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.lattice import AbstractNumber
    from triton_doctor.static.variability.values.program_point import ProgramPoint
    from triton_doctor.static.variability.values.values import Value

_ELLIPSIS = Const(...)
_NEW_AXIS = Const(None)
_WHOLE = Slice(None, None, None)


def indexed(
    interpreter: Interpreter, value: Tensor | SymbolicValue, base: Expr, key: Expr, point: ProgramPoint
) -> Value:
    """Return `value[key]`, spelled `base[key]`; a symbolic value may also be a list or a table."""
    found = _indexed(interpreter, value, base, key, point)
    return with_contents(found, "", [value]) if value.contents is not None else found


def _indexed(
    interpreter: Interpreter, value: Tensor | SymbolicValue, base: Expr, key: Expr, point: ProgramPoint
) -> Value:
    keys = key.items if isinstance(key, TupleExpr) else (key,)
    if len(keys) == 1 and isinstance(key, Name) and (rows := _gathered(interpreter, value, key, point)) is not None:
        return rows
    if not any(isinstance(one, Slice) or one in (_NEW_AXIS, _ELLIPSIS) for one in keys):
        is_shown = isinstance(value, SymbolicValue) and value.root.shown_rank is not None
        if isinstance(value, SymbolicValue) and not (is_shown and all(isinstance(one, Const) for one in keys)):
            # An item of a list, or of a tensor without its first axis: nothing in it has to follow the batch.
            root = replace(value.root.item_called(f"{value.root.name}[{spell(key)}]"), item=True)
            return SymbolicValue(root=root, number=value.number._replace(terms=frozenset(), literals=()))
        if len(keys) == 1 and tensors.rank(value) == 1:
            return Tensor() if value.contents is not None else from_data(Subscript(base, key), None, point)
        if not all(isinstance(one, Const) for one in keys):
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
    first = _Axes(interpreter, point, before, 0).of(head[:front])
    middle = [(axis, position) for position, axis in enumerate(head[front:], start=front)]
    if bare.open is None:
        last = _Axes(interpreter, point, after, len(head)).of(tail)
        every = [*first, *middle, *last]
        order = tuple((position, source) for position, (_, source) in enumerate(every))
        return Tensor(front=tuple(axis for axis, _ in every), moved=AxisOrder(value, order))
    last = _Axes(interpreter, point, after, -back).of(tail[len(tail) - back :])
    stays = all(isinstance(one, Slice) and one.step is None for one in (*before, *after))
    return Tensor(
        front=tuple(axis for axis, _ in (*first, *middle)),
        open=bare.open,
        back=(*tail[: len(tail) - back], *(axis for axis, _ in last)),
        moved=AxisOrder(value, (), rest_stays=True) if stays else None,
    )


def _gathered(interpreter: Interpreter, value: Tensor | SymbolicValue, key: Name, point: ProgramPoint) -> Tensor | None:
    """Return `value[rows]` for a tensor `rows` of row numbers: as many rows as it has; None for other keys."""
    count = _row_count(interpreter, key, point)
    found = views.with_axes(value, 0, (count,), replaced=True) if count is not None else None
    return found._replace(contiguous=True, moved=None) if found is not None else None


def _row_count(interpreter: Interpreter, key: Expr, point: ProgramPoint) -> AbstractNumber | None:
    """Return how many rows `key` chooses, if it is a name for a tensor of row numbers; else None."""
    rows = interpreter.value(key, point) if isinstance(key, Name) else None
    if not isinstance(rows, Tensor | SymbolicValue) or tensors.rank(rows) != 1:
        return None
    return interpreter.axis(rows, 0, point.frame)


def _count(keys: Sequence[Expr]) -> int:
    """Return the number of axes that `keys` consume."""
    return sum(one != _NEW_AXIS for one in keys)


class _Axes:
    """What `keys` leave of the axes, starting at axis `start`."""

    def __init__(self, interpreter: Interpreter, point: ProgramPoint, keys: Sequence[Expr], start: int) -> None:
        """Nothing is evaluated yet."""
        self._interpreter = interpreter
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

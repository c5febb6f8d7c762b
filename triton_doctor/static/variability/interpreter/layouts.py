"""Strides of arguments: is a layout contiguous, by its creation, by a decorator, or for all callers?"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.project.limits import MOST_CALLERS, MOST_DEPTH
from triton_doctor.static.python.function import Function
from triton_doctor.static.python.ir import Attr, dotted
from triton_doctor.static.variability.notes.axis_names import expressions
from triton_doctor.static.variability.values import tensors
from triton_doctor.static.variability.values.lattice import UNKNOWN
from triton_doctor.static.variability.values.values import ProgramPoint, SymbolicValue, Tensor, Union, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.python.module import Module
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.lattice import AbstractNumber
    from triton_doctor.static.variability.values.values import CallFrame

_LEAST_AXES = 3


def stride(interpreter: Interpreter, value: Tensor | SymbolicValue, position: int, frame: CallFrame) -> AbstractNumber:
    """Return `value.stride(position)`: the product of the axes after it, if the layout is contiguous."""
    if isinstance(value, Tensor):
        turned = value.moved is not None and value.moved.is_like and interpreter.layouts.is_turned(value, frame)
        if value.moved is None or (value.contiguous and not turned):
            return tensors.stride(value, position)
        source = value.moved.source(position)
        return UNKNOWN if source is None else interpreter.stride(value.moved.of, source, frame)
    rank = tensors.rank(value)
    if rank is None or not -rank <= position < rank or not interpreter.layouts.is_contiguous(value, frame):
        return tensors.stride(value, position)
    return tensors.product([interpreter.axis(value, later, frame) for later in range(position % rank + 1, rank)])


def presumed_stride(
    interpreter: Interpreter, value: SymbolicValue, position: int, frame: CallFrame
) -> AbstractNumber | None:
    """Return the likely `value.stride(position)` of a tensor that is not known to be contiguous.

    A view may have other strides, but they mostly contain the same axes. None if that is not likely: it is for an axis
    with a written shape, and for the first of three or more axes, whose stride contains all others in any order.
    """
    note, rank = value.root.note, value.root.rank
    if rank is None or not 0 <= position % rank < rank - 1:
        return None
    is_written = note is not None and note.is_written and note.is_row_major
    if not is_written and (position % rank != 0 or rank < _LEAST_AXES):
        return None
    return tensors.product([interpreter.axis(value, later, frame) for later in range(position % rank + 1, rank)])


class Layouts:
    """Tells which arguments are contiguous; results are cached."""

    def __init__(self, interpreter: Interpreter) -> None:
        """Start with an empty cache."""
        self._interpreter = interpreter
        self._known: dict[tuple[int, str], bool] = {}
        self._turned: dict[tuple[int, str], bool] = {}

    def is_contiguous(self, value: Value, frame: CallFrame) -> bool:
        """Return whether `value` is certainly contiguous."""
        match value:
            case Tensor():
                return value.contiguous is True
            case Union(options):
                return all(self.is_contiguous(option, frame) for option in options)
            case SymbolicValue(root, _, function):
                if value.contiguous:
                    return True
                if function is None or frame.depth >= MOST_DEPTH:
                    return False
                key = (id(function), root.name)
                if key not in self._known:
                    self._known[key] = False
                    self._known[key] = self._is_passed_contiguous(function, root.name, frame)
                return self._known[key]
            case _:
                return False

    def is_turned(self, value: Value, frame: CallFrame) -> bool:
        """Return whether, for some caller, the axes of `value` are in another order than its strides."""
        match value:
            case Tensor(moved=None):
                return False
            case Tensor(moved=order) if order is not None:
                is_view = not (value.contiguous or order.is_like)
                return (is_view and order.turns) or ((is_view or order.is_like) and self.is_turned(order.of, frame))
            case Union(options):
                return any(self.is_turned(option, frame) for option in options)
            case SymbolicValue(root, _, function):
                if function is None or value.contiguous or frame.depth >= MOST_DEPTH:
                    return False
                key = (id(function), root.name)
                if key not in self._turned:
                    self._turned[key] = False
                    passed = islice(self._passed(function, root.name, frame), MOST_CALLERS)
                    self._turned[key] = any(self.is_turned(expr, inner) for expr, inner in passed)
                return self._turned[key]
            case _:
                return False

    def _is_passed_contiguous(self, function: Function, name: str, frame: CallFrame) -> bool:
        interpreter = self._interpreter
        home = interpreter.project.names.home(function)
        if any(self._makes_contiguous(home, full) for decorator in function.decorators if (full := dotted(decorator))):
            return True
        count = 0
        for count, (value, inner) in enumerate(self._passed(function, name, frame), start=1):
            if count > MOST_CALLERS or not self.is_contiguous(value, inner):
                return False
        return count > 0

    def _passed(self, function: Function, name: str, frame: CallFrame) -> Iterator[tuple[Value, CallFrame]]:
        """Yield what each caller passes as `name`, and in which frame."""
        interpreter = self._interpreter
        for caller in interpreter.call_graph.callers_of(interpreter.project.names.home(function), function):
            arg = bind(function, caller.site.call).get(name)
            if arg is not None:
                inner = interpreter.frame(caller.module, caller.function, frame.depth + 1)
                yield interpreter.value(arg, ProgramPoint(inner, caller.site.order, caller.site.arms)), inner

    def _makes_contiguous(self, module: Module, decorator: str) -> bool:
        """Return whether a decorator of the project calls `contiguous` on the arguments that it forwards."""
        found = self._interpreter.project.names.dotted(module, decorator)
        return isinstance(found, Function) and _calls_contiguous(self._interpreter.project.names.home(found), found)


@cached_in_scan()
def _calls_contiguous(module: Module, function: Function) -> bool:
    inside = f"{function.qualname}.<locals>."
    return any(
        isinstance(expr, Attr) and expr.name == "contiguous"
        for candidate in module.functions.values()
        if (candidate is function or candidate.qualname.startswith(inside)) and candidate.holds(b"contiguous")
        for expr in expressions(candidate)
    )

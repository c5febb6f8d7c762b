"""Lists that a function makes empty and fills: `sizes = []`, and `sizes.append(n)` for each of something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Attr, Call, IterItem, Name, TupleExpr, Unpacked, children
from triton_doctor.static.variability.host_tensors import stores_items
from triton_doctor.static.variability.indexing import element
from triton_doctor.static.variability.lattice import UNKNOWN, join
from triton_doctor.static.variability.program_point import ProgramPoint
from triton_doctor.static.variability.values import ListValue, either

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.python.function import Binding, BranchArm, CallSite, Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter import Interpreter
    from triton_doctor.static.variability.lattice import AbstractNumber
    from triton_doctor.static.variability.program_point import CallFrame
    from triton_doctor.static.variability.values import Value

_ADDING = frozenset({"append", "extend"})
_LEAVING = frozenset({"copy", "index", "count", "sort", "reverse"})


def is_empty_list(expr: Expr) -> bool:
    """Whether it is `[]` or `list()`."""
    match expr:
        case TupleExpr(()) | Call(Name("list"), (), ()):
            return True
        case _:
            return False


def grown_list(interpreter: Interpreter, binding: Binding, frame: CallFrame) -> ListValue | None:
    """The list that `binding` makes empty, with what its function adds to it; None where that is not known."""
    added = _added(frame.function, binding.name)
    if not added:
        return None
    items: list[Value] = []
    for site in added:
        if any(frame.function.shows(stores_items(name)) for name in _names(site.call.args[0])):
            items.append(UNKNOWN)  # an item of what is added is set one by one
            continue
        point = ProgramPoint(frame, site.order, site.arms, line=site.line)
        value = interpreter.value(site.call.args[0], point)
        assert isinstance(site.call.func, Attr)
        items.append(element(interpreter, value, frame) if site.call.func.name == "extend" else value)
    return ListValue(either(items), _length(interpreter, binding, added, frame))


def _added(function: Function, name: str) -> Sequence[CallSite]:
    """The calls that add to the list `name`; none where a method changes it otherwise."""
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


def _names(expr: Expr) -> Iterator[str]:
    """The names in `expr`."""
    if isinstance(expr, Name):
        yield expr.id
    for part in children(expr):
        yield from _names(part)


def _length(interpreter: Interpreter, binding: Binding, added: Sequence[CallSite], frame: CallFrame) -> AbstractNumber:
    """One item for each turn of the loops around what adds them; UNKNOWN where something else decides."""
    site = added[0]
    assert isinstance(site.call.func, Attr)
    inner = [arm for arm in site.arms if arm not in binding.arms]
    if len(added) > 1 or site.call.func.name == "extend" or not inner or not all(arm.loop for arm in inner):
        return UNKNOWN
    lengths: dict[BranchArm, AbstractNumber] = {}
    for bound in (one for every in frame.function.bindings.values() for one in every):
        match bound.value:
            case IterItem(source) | Unpacked(IterItem(source)) if bound.arms and bound.arms[-1] in inner:
                value = interpreter.value(source, ProgramPoint(frame, bound.order, bound.arms))
                lengths[bound.arms[-1]] = interpreter.length(value, frame)
            case _:
                pass
    return join(lengths.values())._replace(literal=...) if len(lengths) == len(inner) else UNKNOWN

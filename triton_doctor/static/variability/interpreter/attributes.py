"""Attributes of the project's own objects: the values that methods assign to `self.x`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.limits import MOST_DEPTH
from triton_doctor.static.python.ir import Attr, Call, DictExpr, Name, TupleExpr
from triton_doctor.static.variability.interpreter.attribute_stores import may_store, stored_value
from triton_doctor.static.variability.interpreter.registered_attributes import is_registered
from triton_doctor.static.variability.values.dims import Origin
from triton_doctor.static.variability.values.lattice import UNKNOWN, AbstractNumber, Variability
from triton_doctor.static.variability.values.trace import Note
from triton_doctor.static.variability.values.values import ListValue, SymbolicValue, Value, either

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.python.function import Function, Stored
    from triton_doctor.static.python.module import Class, Module
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.program_point import CallFrame

# Methods that run once per object: what they set lasts as long as the model.
_MAKING = frozenset({"__init__", "__post_init__", "__new__", "setup", "build"})
_EMPTY = (TupleExpr(()), DictExpr(()), Call(Name("list"), (), ()), Call(Name("deque"), (), ()))


def field(interpreter: Interpreter, of: Class, name: str, frame: CallFrame) -> Value:
    """Return `self.name`: the values assigned in methods of the class. A size set at construction is PER_MODEL, and so
    is a parameter or buffer, whichever method creates it.
    """
    module = interpreter.project.names.home_of_class(of)
    stores = stores_in_class(module, of, name)
    if not stores:
        known = of.fields.get(name)
        return _kept(name, module, known.line if known is not None else frame.function.line)
    key = ("field", id(of), name, frame.depth)
    return interpreter.evaluations.memoize(key, partial(_set_to, interpreter, of, name, stores, frame))


def _set_to(
    interpreter: Interpreter, of: Class, name: str, stores: Sequence[tuple[Function, Stored]], frame: CallFrame
) -> Value:
    """Return what `stores`, in methods of the class, assign to `self.name`."""
    module = interpreter.project.names.home_of_class(of)
    values: list[Value] = []
    for function, stored in stores:
        if function.name not in _MAKING and not is_registered(stored.value):
            values.append(_stored(interpreter, stored, module, function, frame))
        elif stored.value in _EMPTY and _grows(of, name, module):
            values.append(_growing(name, module, stored))
        else:
            values.append(_kept(name, module, stored.line))
    return either(values)


@cached_in_scan()
def stores_in_class(module: Module, of: Class, name: str) -> tuple[tuple[Function, Stored], ...]:
    """Return the stores to `self.name` in methods of the class."""
    return tuple(
        (function, stored)
        for function in module.functions.values()
        if function.class_name == of.qualname and may_store(function, name)
        for stored in function.stored
        if stored.base in ("self", "cls") and stored.name == name
    )


def _stored(interpreter: Interpreter, stored: Stored, module: Module, function: Function, frame: CallFrame) -> Value:
    if frame.depth >= MOST_DEPTH:
        return UNKNOWN
    return stored_value(interpreter, module, function, stored, frame.depth + 1)


def _kept(name: str, module: Module, line: int) -> SymbolicValue:
    root = Origin(module.path, "self", name, line, None, weight=True)
    return SymbolicValue(root=root, number=AbstractNumber(kind=Variability.PER_MODEL))


def _growing(name: str, module: Module, stored: Stored) -> ListValue:
    note = Note(module.path, stored.line, f"`{stored.base}.{name}` starts empty, and grows later")
    return ListValue(item=UNKNOWN, length=AbstractNumber(kind=Variability.PER_CALL, from_data=True, trail=(note,)))


def _grows(of: Class, name: str, module: Module) -> bool:
    """Return whether a method other than the constructors adds to `self.name`."""
    for function in module.functions.values():
        if function.class_name == of.qualname and function.name not in _MAKING and function.holds(name.encode()):
            for site in function.calls:
                match site.call.func:
                    case Attr(Attr(Name("self"), grown), "append" | "extend" | "add" | "insert") if grown == name:
                        return True
    return False

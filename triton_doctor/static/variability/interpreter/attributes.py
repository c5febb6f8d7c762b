"""Attributes of the project's own objects: what methods and other code store, and registered state."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.database.dependencies import declare_query
from triton_doctor.static.project.limits import MOST_DEPTH
from triton_doctor.static.python.ir import (
    Attr,
    Call,
    Const,
    DictExpr,
    Name,
    TupleExpr,
    Unpacked,
    every_part,
    final_name,
)
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.sources.source_text import TextPattern
from triton_doctor.static.variability.values.dims import Origin
from triton_doctor.static.variability.values.lattice import (
    UNKNOWN,
    AbstractNumber,
    Note,
    Variability,
)
from triton_doctor.static.variability.values.values import (
    ListValue,
    ProgramPoint,
    SymbolicValue,
    Value,
    either,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.python.function import CallSite, Function, Stored
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Class, Module
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.values import CallFrame

# Methods that run once per object: what they set lasts as long as the model.
MAKING = frozenset({"__init__", "__post_init__", "__new__", "setup", "build"})
_EMPTY = (TupleExpr(()), DictExpr(()), Call(Name("list"), (), ()), Call(Name("deque"), (), ()))


def field(interpreter: Interpreter, of: Class, name: str, frame: CallFrame) -> Value:
    """Return `self.name`: the values assigned in methods of the class.

    A size set at construction is PER_MODEL, and so is a parameter or buffer, whichever method creates it.
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
        if function.name not in MAKING and not is_registered(stored.value):
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
        if function.class_name == of.qualname and function.name not in MAKING and function.holds(name.encode()):
            for site in function.calls:
                match site.call.func:
                    case Attr(Attr(Name("self"), grown), "append" | "extend" | "add" | "insert") if grown == name:
                        return True
    return False


# What follows a stored attribute: its value, the iterable of a loop, an annotation, or the next target; the value is on
# that line or after the closing bracket of the targets. Targets of `with` are no numbers and not searched for.
_STORED = re.compile(rb"(?<=[.\"'])")
AFTER_STORED = re.compile(
    rb"(?![A-Za-z0-9_])[\"']*(?:[\s\\)\]]|#[^\n]*\n)*"
    rb"(?:=(?!=)|in\b|[:,][^\n]*(?:[^=!<>\n]=(?!=)|\\\n)|:[^\n]*[\[(][ \t]*\n|,[^=()]*[)\]][ \t]*=(?!=))"
)
_GIVEN = re.compile(rb"(?<![A-Za-z0-9_.])")
_VALUE = re.compile(rb"\s*=(?!=)")
_UPDATING = TextPattern("update(")


def may_store(function: Function, name: str) -> bool:
    """Return whether the text may contain an assignment to an attribute or entry `name`, or `update(name=...)`."""
    return function.matches(store_pattern(name)) or (
        function.matches(_UPDATING) and function.matches(keyword_pattern(name))
    )


@cached_in_scan()
def store_pattern(name: str) -> TextPattern:
    """Return a pattern that matches every assignment to an attribute or entry `name`."""
    return TextPattern(name, _STORED, AFTER_STORED)


@cached_in_scan()
def keyword_pattern(name: str) -> TextPattern:
    """Return a pattern that matches every call with an argument `name=...`."""
    return TextPattern(name, _GIVEN, _VALUE)


def stored_value(interpreter: Interpreter, module: Module, function: Function, stored: Stored, depth: int) -> Value:
    """Return the value of a store in `function` of `module`, entered at `depth`."""
    point = ProgramPoint(interpreter.frame(module, function, depth), stored.order)
    value = interpreter.evaluations.guard(
        (id(function), f".{stored.name}", stored.order), partial(interpreter.value, stored.value, point), UNKNOWN
    )
    note = Note(module.path, stored.line, f"`{stored.base}.{stored.name}` is `{{}}`", stored.value)
    return value.with_step(note) if isinstance(value, AbstractNumber) else value


_REGISTERING = frozenset({"register_buffer", "register_parameter"})
# Constructors of buffers and parameters (torch 2.13 nn/parameter.py).
_WRAPPING = frozenset({"Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer"})
_BEFORE = re.compile(rb"(?<=[.\"'])")
_REGISTERED = re.compile(rb"(?:[\"']\s*,|\s*(?::[^=\n]*)?=(?!=)[^\n]*\n?[^\n]*(?:Parameter|Buffer)\b)")
_BEFORE_ANY = re.compile(rb"(?<=[.\"'\s])")
_ANY = re.compile(rb"[\"']?\s*[:,]|" + AFTER_STORED.pattern)


def registered(interpreter: Interpreter, base: Expr, name: str, point: ProgramPoint) -> SymbolicValue | None:
    """Return `base.name` if classes of the project register it and nothing else stores it; None otherwise."""
    if _is_result(base, point):
        return None
    return interpreter.evaluations.memoize(("registered", name), partial(_registered, interpreter, name))


def _is_result(base: Expr, point: ProgramPoint) -> bool:
    """Return whether `base` is the result of a call, which may have attributes of its own:

    `torch.topk(x, k).indices`.
    """
    while isinstance(base, Attr | Unpacked):
        base = base.base if isinstance(base, Attr) else base.value
    if not isinstance(base, Name):
        return isinstance(base, Call)
    found = reaching_definitions(point.frame.function, base.id, point.order, point.arms)
    values = (
        binding.value.value if isinstance(binding.value, Unpacked) else binding.value for binding in found.bindings
    )
    return any(isinstance(value, Call) for value in values)


def _registered(interpreter: Interpreter, name: str) -> SymbolicValue | None:
    project = interpreter.project
    lines = [
        (path, line, is_buffer)
        for path, found in project.modules.search(REGISTRATIONS, name, name="torch", skip=project.tests)
        for line, is_buffer in found
    ]
    if not lines or any(True for _ in project.modules.search(OTHER_STORES, name, name="torch", skip=project.tests)):
        return None
    path, line, _ = lines[0]
    root = Origin(path, "self", name, line, None, weight=True)
    contents = UNKNOWN if all(is_buffer for _, _, is_buffer in lines) else None
    return SymbolicValue(root=root, number=AbstractNumber(kind=Variability.PER_MODEL), contents=contents)


def read_registrations(module: Module, name: str) -> tuple[tuple[int, bool], ...]:
    """Return the lines on which `__init__` of a class registers `name`, each with whether it is a buffer."""
    found: list[tuple[int, bool]] = []
    for function in module.functions.values():
        if function.name != "__init__" or not function.holds(name.encode()):
            continue
        registration_pattern = (site for site in function.calls if _registers(site, name))
        found += [(site.line, final_name(site.call.func) == "register_buffer") for site in registration_pattern]
        if may_store(function, name):
            stored = (store for store in function.stored if (store.base, store.name) == ("self", name))
            found += [(store.line, False) for store in stored if is_registered(store.value)]
    return tuple(found)


def read_other_stores(module: Module, name: str) -> bool:
    """Return whether something other than a registration may set an attribute `name` in `module`."""
    if any(name in of.declared or name in of.fields for of in module.classes.values()):
        return True
    for function in module.functions.values():
        if not function.holds(name.encode()):
            continue
        is_making = function.name == "__init__"
        if any(_sets(site, name) or (not is_making and _registers(site, name)) for site in function.calls):
            return True
        if may_store(function, name):
            stored = (store for store in function.stored if store.name == name)
            if not all(is_making and store.base == "self" and is_registered(store.value) for store in stored):
                return True
    return False


def _registers(site: CallSite, name: str) -> bool:
    match site.call:
        case Call(Attr(_, method), (Const(str(registered)), *_)) if method in _REGISTERING:
            return registered == name
        case _:
            return False


def _sets(site: CallSite, name: str) -> bool:
    """Return whether it is `setattr(layer, "name", value)`."""
    match site.call:
        case Call(Name("setattr"), (_, Const(str(stored)), *_)):
            return stored == name
        case _:
            return False


def is_registered(value: Expr) -> bool:
    """Return whether `value` is a parameter or buffer, or a list of them."""
    calls = (part for part in every_part(value) if isinstance(part, Call))
    return any(final_name(call.func) in _WRAPPING for call in calls)


@cached_in_scan()
def registration_pattern(name: str) -> TextPattern:
    """Return a pattern that matches every registration of `name`."""
    return TextPattern(name, _BEFORE, _REGISTERED)


@cached_in_scan()
def attribute_pattern(name: str) -> TextPattern:
    """Return a pattern that matches everything that may set an attribute `name`."""
    return TextPattern(name, _BEFORE_ANY, _ANY)


_MARKS = (
    *map(TextPattern, sorted(_REGISTERING)),
    *(TextPattern(word, after=re.compile(rb"\b")) for word in ("Parameter", "Buffer")),
)
REGISTRATIONS = declare_query("registrations", read_registrations, registration_pattern, _MARKS)
OTHER_STORES = declare_query("stores that are no registrations", read_other_stores, attribute_pattern)

"""Attributes of unknown objects that only ever hold registered state: buffers, parameters, lists of these.

For `layer.edges` of an unknown `layer`: if every class of the project with that attribute registers it at construction,
by `self.register_buffer("edges", edges)` or `self.edges = nn.Parameter(edges)`, it lasts as long as the model.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.database.dependencies import declare_query
from triton_doctor.static.python.ir import Attr, Call, Const, Name, Unpacked, every_part, final_name
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.sources.source_text import TextPattern
from triton_doctor.static.variability.interpreter.attribute_stores import AFTER_STORED, may_store
from triton_doctor.static.variability.values.dims import Origin
from triton_doctor.static.variability.values.lattice import UNKNOWN, AbstractNumber, Variability
from triton_doctor.static.variability.values.values import SymbolicValue

if TYPE_CHECKING:
    from triton_doctor.static.python.function import CallSite
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Module
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.program_point import ProgramPoint

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
    values = (one.value.value if isinstance(one.value, Unpacked) else one.value for one in found.bindings)
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
        found += [(one.line, final_name(one.call.func) == "register_buffer") for one in registration_pattern]
        if may_store(function, name):
            stored = (one for one in function.stored if (one.base, one.name) == ("self", name))
            found += [(one.line, False) for one in stored if is_registered(one.value)]
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
            stored = (one for one in function.stored if one.name == name)
            if not all(is_making and one.base == "self" and is_registered(one.value) for one in stored):
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

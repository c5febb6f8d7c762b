"""Attributes of objects that a function receives or creates: what any code stores in objects of that class."""

from __future__ import annotations

import re
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.database.dependencies import declare_query
from triton_doctor.static.project.limits import MOST_DEPTH, MOST_STORES
from triton_doctor.static.python.ir import Call, Name, dotted
from triton_doctor.static.python.module import Class
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.sources.source_text import TextPattern
from triton_doctor.static.variability.values.lattice import UNKNOWN, AbstractNumber, Variability, choice
from triton_doctor.static.variability.values.program_point import ProgramPoint
from triton_doctor.static.variability.values.trace import Note
from triton_doctor.static.variability.values.values import Tensor, Union, Value, either

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import Function, Stored
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Module
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter

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


class _Store(NamedTuple):
    """One statement `obj.name = value`."""

    module: Module
    function: Function
    stored: Stored


class AttributeStores:
    """Looks up the stores to attributes, except in tests, in files that can name the class."""

    def __init__(self, project: Project) -> None:
        """Start with an empty cache."""
        self._project = project
        self._names = project.names
        self._answers: dict[tuple[int, str], tuple[Value | None, int]] = {}

    def value(self, interpreter: Interpreter, base: Expr, name: str, point: ProgramPoint) -> Value | None:
        """Return what `base.name` was set to; None if no store tells more than that the attribute exists."""
        frame = point.frame
        if frame.depth >= MOST_DEPTH:
            return None
        owner = self.class_of(base, point.order, frame.module, frame.function)
        if owner is None:
            return None
        key = (id(owner), name)
        answer, depth = self._answers.get(key, (None, MOST_DEPTH))
        if answer is None and frame.depth < depth:
            # A result from deeper in the call stack was cut off earlier: recompute it.
            self._answers[key] = (None, 0)
            stores = list(islice(self._stores(owner, name), MOST_STORES + 1))
            if len(stores) <= MOST_STORES:
                own = (store for store in stores if self._is_of(owner, store))
                answer = _join_stores([stored_value(interpreter, *store, frame.depth) for store in own])
            self._answers[key] = (answer, frame.depth)
        return answer

    def _stores(self, owner: Class, name: str) -> Iterator[_Store]:
        """Yield the stores to `name` where objects of `owner` may be, by path and position."""
        modules, tests = self._project.modules, self._project.tests
        for path, _ in modules.search(STORES, name, name=owner.name, home=owner.path, member=name, skip=tests):
            module = modules[path]
            for function in _holders(module, owner):
                yield from _stores_in(module, function, name)

    def _is_of(self, owner: Class, store: _Store) -> bool:
        """Return whether the store is to an object of `owner`."""
        module, function, stored = store
        if stored.base in ("self", "cls") and function.class_name is not None:
            return module.path == owner.path and function.class_name == owner.qualname
        return self.class_of(Name(stored.base), stored.order, module, function) is owner

    def class_of(self, base: Expr, order: int, module: Module, function: Function) -> Class | None:
        """Return the project's class of the object in `base`, by its annotation or the call that made it."""
        match base:
            case Name(name):
                pass
            case _:
                return None
        for word in self._classes_said(name, order, function):
            found = self._names.dotted(module, word)
            if isinstance(found, Class):
                return found
        return None

    def _classes_said(self, name: str, order: int, function: Function) -> Iterator[str]:
        found = reaching_definitions(function, name, order, ())
        for binding in found.bindings:
            if binding.annotation is not None:
                yield binding.annotation
            match binding.value:
                case Call(func, _, _) if (full := dotted(func)) is not None:
                    yield full
        if not found.certain:
            for param in function.params:
                if param.name == name and param.annotation is not None:
                    yield param.annotation


@cached_in_scan()
def _holders(module: Module, owner: Class) -> tuple[Function, ...]:
    """Return the functions of `module` that may hold an object of `owner`: its methods, and those that
    name the class.
    """
    names = {owner.name, *(name for name, imported in module.imports.items() if imported.member == owner.name)}
    words = [name.encode() for name in names]
    return tuple(
        function
        for function in module.functions.values()
        if (module.path == owner.path and function.class_name == owner.qualname) or any(map(function.holds, words))
    )


@cached_in_scan()
def _stores_in(module: Module, function: Function, name: str) -> tuple[_Store, ...]:
    """Return the stores to `name`, of any object, in `function` of `module`."""
    if not may_store(function, name):
        return ()
    return tuple(_Store(module, function, stored) for stored in function.stored if stored.name == name)


def may_store(function: Function, name: str) -> bool:
    """Return whether the text may contain an assignment to an attribute or entry `name`, or `update(name=...)`."""
    return function.matches(store_pattern(name)) or (
        function.matches(_UPDATING) and function.matches(keyword_pattern(name))
    )


def stores_somewhere(module: Module, name: str) -> bool:
    """Return whether the text of some function of `module` may store to `name`."""
    return any(function.matches(store_pattern(name)) for function in module.functions.values())


@cached_in_scan()
def store_pattern(name: str) -> TextPattern:
    """Return a pattern that matches every assignment to an attribute or entry `name`."""
    return TextPattern(name, _STORED, AFTER_STORED)


STORES = declare_query("stores", stores_somewhere, store_pattern)


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


def _join_stores(values: Iterable[Value]) -> Value | None:
    """Return what the stores agree on: a number that changes, or tensors whose axes are known."""
    every = [one for value in values for one in (value.options if isinstance(value, Union) else (value,))]
    options = [one for one in every if not _is_placeholder(one)]
    tensors = [one for one in options if isinstance(one, Tensor)]
    if tensors:
        return either(tensors)
    numbers = [one for one in options if isinstance(one, AbstractNumber)]
    varying = [one for one in numbers if one.decide() in (Variability.PER_CALL, Variability.LOGARITHMIC)]
    if varying:
        return choice(varying)
    known = numbers and len(numbers) == len(options) and all(one.decide() is not Variability.UNKNOWN for one in numbers)
    return choice(numbers) if known else None


def _is_placeholder(value: Value) -> bool:
    """Return whether the value only stands in for a later one: None, or a tensor without elements."""
    match value:
        case AbstractNumber():
            return value.literal is None
        case Tensor():
            return any(axis.literal == 0 for axis in value.front)
        case _:
            return False


def stored_here(interpreter: Interpreter, owner: Expr, name: str, point: ProgramPoint) -> Value | None:
    """Return `owner.name` or `owner[name]` as the function stores it before `point`; None if it does not."""
    stored = [
        interpreter.value(one.value, point._replace(order=one.order, line=one.line))
        for one in point.frame.function.stored
        if Name(one.base) == owner and one.name == name and one.order < point.order
    ]
    return either(stored) if stored else None

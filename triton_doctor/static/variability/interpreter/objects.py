"""Objects of the project's plain classes, known by their constructor arguments: attributes, properties and methods.

After `sizes = Sizes(rows=x.shape[0])`, `sizes.rows` is that argument. Classes with a base outside the project are not
modelled: a network module lasts as long as the model whatever its arguments. If branches choose between objects, an
attribute that differs per call in all of them is per call: branches choose settings by a length, and the length that
one passes is capped by the others.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.project.limits import MOST_DEPTH
from triton_doctor.static.python.ir import Attr, Call, Name, Star, dotted, final_name
from triton_doctor.static.python.module import Class
from triton_doctor.static.variability.interpreter.arguments import saved
from triton_doctor.static.variability.interpreter.attributes import field, registered, stored_here
from triton_doctor.static.variability.models.indexing import OF_TENSORS, attribute
from triton_doctor.static.variability.models.origins import declared
from triton_doctor.static.variability.values.lattice import UNKNOWN, AbstractNumber, Variability, choice
from triton_doctor.static.variability.values.values import (
    CallFrame,
    Context,
    Instance,
    ProgramPoint,
    SymbolicValue,
    TupleValue,
    Union,
    Value,
    either,
    end_of,
    forget_items,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Module
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.values import Lazy

_PLAIN_BASES = frozenset({"NamedTuple", "object"})
_PROPERTIES = frozenset({"property", "cached_property"})
_OF_CLASS = frozenset({"classmethod", "staticmethod"})
_MAKING = ("__init__", "__post_init__")


def make_object(interpreter: Interpreter, call: Call, point: ProgramPoint) -> Instance | None:
    """Return the object that `call` creates, if it calls a plain class of the project."""
    of = _class_called(interpreter, call.func, point)
    if of is None or not _is_plain(of):
        return None
    made: dict[str, Value | Lazy] = {}
    init = _method(interpreter, of, "__init__")
    if init is not None:
        given = bind(init, call)
    else:
        given = {name: value for name, value in call.keywords if name is not None}
        for name, arg in zip(of.declared, call.args, strict=False):
            if isinstance(arg, Star):
                break
            given[name] = arg
    for name, arg in given.items():
        made[name] = partial(interpreter.value, arg, point)
    return Instance(of, made)


def named_part(interpreter: Interpreter, base: Expr, name: str, point: ProgramPoint) -> Value:
    """Return `base.name` for any `base`: an object of the project, an autograd context, a tensor, an argument."""
    if name in interpreter.project.declared:
        return declared(interpreter.project, name, point.frame)
    return forget_items(_named_part(interpreter, interpreter.value(base, point), base, name, point))


def _named_part(interpreter: Interpreter, value: Value, base: Expr, name: str, point: ProgramPoint) -> Value:
    match value:
        case Instance():
            return object_attribute(interpreter, value, base, name, point)
        case Union(options) if any(isinstance(option, Instance) for option in options):
            varying = _varying_in_all(interpreter, options, name, point.frame)
            return attribute(interpreter, UNKNOWN, name, base, point) if varying is None else varying
        case Context(forward):
            return saved(interpreter, forward, name, point.frame)
        case SymbolicValue(_, number, _) if number.kind is Variability.UNKNOWN and interpreter.follows_callers:
            stored = interpreter.attribute_stores.value(interpreter, base, name, point)
            found = registered(interpreter, base, name, point) if stored is None else stored
            if found is None and value.origin is not None and name not in OF_TENSORS:
                found = interpreter.caller_arguments.attribute(value, name, point.frame)
            return attribute(interpreter, value, name, base, point) if found is None else found
        case _:
            return attribute(interpreter, value, name, base, point)


def object_attribute(interpreter: Interpreter, instance: Instance, base: Expr, name: str, point: ProgramPoint) -> Value:
    """Return `instance.name`, spelled `base.name`."""
    frame = point.frame
    if instance.made is None:
        found = property_value(interpreter, instance, name, frame)
        return field(interpreter, instance.of, name, frame) if found is None else found
    found = stored_here(interpreter, base, name, point)
    found = made_attribute(interpreter, instance, name, frame) if found is None else found
    if found is None and interpreter.follows_callers:
        found = interpreter.attribute_stores.value(interpreter, base, name, point)
    return attribute(interpreter, instance, name, base, point) if found is None else found


def _varying_in_all(
    interpreter: Interpreter, options: Iterable[Value], name: str, frame: CallFrame
) -> AbstractNumber | None:
    """Return `name` of one of several objects if it is per call in each of them; else None."""
    numbers: list[AbstractNumber] = []
    for option in options:
        if not isinstance(option, Instance) or option.made is None:
            return None
        value = made_attribute(interpreter, option, name, frame)
        number = interpreter.as_number(value, frame) if value is not None else UNKNOWN
        if number.decide() is not Variability.PER_CALL:
            return None
        numbers.append(number)
    return choice(numbers)


def made_attribute(interpreter: Interpreter, instance: Instance, name: str, frame: CallFrame) -> Value | None:
    """Return `instance.name` as its constructor arguments determine it; None if they do not."""
    key = (id(instance.made), name, 0)
    return interpreter.evaluations.guard(key, partial(_read, interpreter, instance, name, frame), None)


def property_value(interpreter: Interpreter, instance: Instance, name: str, frame: CallFrame) -> Value | None:
    """Return the result of the property `name` of the object's class; None if there is no such property."""
    function = _method(interpreter, instance.of, name)
    if function is None or not _is_decorated(function, _PROPERTIES):
        return None
    return enter_method(interpreter, instance, function, {}, frame)


def called_method(interpreter: Interpreter, call: Call, point: ProgramPoint) -> Value | None:
    """Return the result of a method of a known object, or of a classmethod of a plain class; None for other calls."""
    match call.func:
        case Attr(Name() as base, name):
            of = _class_called(interpreter, base, point)
        case _:
            return None
    if of is not None:
        function = _method(interpreter, of, name)
        instance = Instance(of)
        if function is None or not (_is_plain(of) and _is_decorated(function, _OF_CLASS)):
            return None
    else:
        if base.id not in point.frame.function.bindings:
            return None
        value = interpreter.value(base, point)
        if not isinstance(value, Instance) or value.made is None:
            return None
        instance = value
        function = _method(interpreter, instance.of, name)
        if function is None:
            return None
    arguments: dict[str, Lazy] = {
        param: partial(interpreter.value, arg, point) for param, arg in bind(function, call).items()
    }
    return enter_method(interpreter, instance, function, arguments, point.frame)


def bind_arguments(interpreter: Interpreter, function: Function, call: Call, point: ProgramPoint) -> dict[str, Lazy]:
    """Return the arguments of `call` for `function`, including the object if it is another method of `self`."""
    arguments: dict[str, Lazy] = {
        name: partial(interpreter.value, arg, point) for name, arg in bind(function, call).items()
    }
    match call.func:
        case Attr(Name("self") as base, _) if function.class_name is not None and point.frame.arguments is not None:
            arguments.setdefault("self", partial(interpreter.value, base, point))
        case _:
            pass
    return arguments


def enter_method(
    interpreter: Interpreter, instance: Instance, function: Function, arguments: Mapping[str, Lazy], frame: CallFrame
) -> Value:
    """Return the result of a method of `instance`."""
    if frame.depth >= MOST_DEPTH:
        return UNKNOWN
    own: dict[str, Value | Lazy] = {**arguments}
    if function.params and not _is_decorated(function, _OF_CLASS):
        own[function.params[0].name] = instance
    inner = CallFrame(_home(interpreter, instance.of), function, own, frame.depth + 1)
    return interpreter.return_value(inner)


def items_of(interpreter: Interpreter, instance: Instance, frame: CallFrame) -> TupleValue | None:
    """Return the items of a named tuple that was created in view."""
    if instance.made is None or not any(
        dotted(base) in ("NamedTuple", "typing.NamedTuple") for base in instance.of.bases
    ):
        return None
    names = instance.of.declared
    return TupleValue([made_attribute(interpreter, instance, name, frame) or UNKNOWN for name in names])


def _read(interpreter: Interpreter, instance: Instance, name: str, frame: CallFrame) -> Value | None:
    of, made = instance.of, instance.made or {}
    module = _home(interpreter, of)
    if frame.depth >= MOST_DEPTH:
        return None
    found: list[Value] = []
    for function in module.functions.values():
        if function.class_name != of.qualname or not function.holds(name.encode()):
            continue
        stored = [one for one in function.stored if (one.base, one.name) == ("self", name)]
        if stored and function.name not in _MAKING:
            return None  # a later call may change it
        own = {**made, "self": instance} if function.name == "__init__" else {"self": instance}
        inner = CallFrame(module, function, own, frame.depth + 1)
        found += [interpreter.value(one.value, ProgramPoint(inner, one.order)) for one in stored]
    if found:
        return either(found)
    if _method(interpreter, of, "__init__") is None:
        passed = made.get(name)
        if passed is not None:
            return passed() if isinstance(passed, partial) else passed
        default = of.fields.get(name)
        if default is not None:
            return interpreter.value(default.value, end_of(interpreter.frame(module, module.top, frame.depth + 1)))
    return property_value(interpreter, instance, name, frame)


def _class_called(interpreter: Interpreter, func: Expr, point: ProgramPoint) -> Class | None:
    full = dotted(func)
    if full is None:
        return None
    function, module = point.frame.function, point.frame.module
    first = full.partition(".")[0]
    if full == "cls" and function.class_name is not None:
        return module.classes.get(function.class_name)
    if first not in module.classes and first not in module.imports and not module.star_imports:
        return None  # most calls are not of classes
    found = interpreter.project.names.dotted(module, full)
    return found if isinstance(found, Class) and not function.binds(first) else None


def _is_plain(of: Class) -> bool:
    return all(final_name(base) in _PLAIN_BASES for base in of.bases)


def _home(interpreter: Interpreter, of: Class) -> Module:
    return interpreter.project.names.home_of_class(of)


def _method(interpreter: Interpreter, of: Class, name: str) -> Function | None:
    return _home(interpreter, of).functions.get(f"{of.qualname}.{name}")


def _is_decorated(function: Function, names: frozenset[str]) -> bool:
    return any(final_name(decorator) in names for decorator in function.decorators)

"""Expressions to whether they are integers for certain: not None, not a truth value, not a fraction."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.nesting import with_own_stack
from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.python.ir import (
    Attr,
    BinaryOp,
    Call,
    Conditional,
    Const,
    Expr,
    IterItem,
    Name,
    Star,
    Subscript,
    TupleExpr,
    Unpacked,
    dotted,
)
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.variability.launch_hints import interpreter_of

if TYPE_CHECKING:
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import BranchArm, Function
    from triton_doctor.static.python.module import Module

# A size passes through a few names and functions on its way to a launch.
_MOST_STEPS = 12
_MOST_CALLERS = 20
_CALLERS_DEEP = 2
# What stands after every statement of a function.
_END = 1 << 30
_INTEGER_OPERATORS = frozenset({"+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^"})
_INTEGER_FUNCTIONS = frozenset(
    "len int cdiv next_power_of_2 numel nelement dim ndimension bit_length device_count".split()
)
_INTEGER_OF_MODULES = frozenset({"math.ceil", "math.floor", "math.gcd", "math.isqrt"})
_OF_ARGUMENTS = frozenset({"min", "max", "abs", "sum"})


class _IntegerPoint(NamedTuple):
    module: Module
    function: Function
    order: int
    arms: tuple[BranchArm, ...]
    callers: int


def is_integer(project: Project, launch: LinkedLaunch, expr: Expr) -> bool:
    """Whether `expr` is an integer wherever `launch` is reached from; False where it cannot be told."""
    one = launch.launch
    place = _IntegerPoint(launch.module, launch.function, one.order, one.arms, _CALLERS_DEEP)
    try:
        return with_own_stack(_is_integer, project, expr, place, _MOST_STEPS)
    except RecursionError:
        return False


def _is_integer(project: Project, expr: Expr, place: _IntegerPoint, steps: int) -> bool:
    if steps == 0:
        return False
    match expr:
        case Const(value):
            return type(value) is int
        case BinaryOp(op, operands):
            return op in _INTEGER_OPERATORS and all(_is_integer(project, one, place, steps - 1) for one in operands)
        case Conditional(_, options):
            return all(_is_integer(project, one, place, steps - 1) for one in options)
        case Call(func, args, _):
            return _is_integer_call(project, func, args, place, steps)
        case Subscript(inner, Const(int())):
            return _is_sizes(inner) or _is_integer_name_of_sizes(project, inner, place)
        case Unpacked(value, position, _, _) if position is not None:
            if isinstance(value, TupleExpr) and not any(isinstance(item, Star) for item in value.items):
                return position < len(value.items) and _is_integer(project, value.items[position], place, steps - 1)
            return (
                _is_sizes(value)
                or _are_integers(project, value, place, steps)
                or _is_integer_name_of_sizes(project, value, place)
            )
        case IterItem(Call(Name("range"))):
            return True
        case Name(name):
            return _is_integer_name(project, name, place, steps - 1)
        case _:
            return False


def _is_integer_call(project: Project, func: Expr, args: tuple[Expr, ...], place: _IntegerPoint, steps: int) -> bool:
    name = func.name if isinstance(func, Attr) else func.id if isinstance(func, Name) else ""
    if name in ("size", "stride") and isinstance(func, Attr):
        return len(args) == 1
    if name in _OF_ARGUMENTS and isinstance(func, Name):
        if len(args) == 1:
            return _holds_integers(args[0], place)
        return bool(args) and all(_is_integer(project, one, place, steps - 1) for one in args)
    return name in _INTEGER_FUNCTIONS or dotted(func) in _INTEGER_OF_MODULES


def _holds_integers(expr: Expr, place: _IntegerPoint) -> bool:
    """Whether it is a parameter that is annotated to, `list[int]`, and never bound anew."""
    if not isinstance(expr, Name) or expr.id in place.function.bindings:
        return False
    return any(param.name == expr.id and param.items == "int" for param in place.function.params)


def _is_sizes(expr: Expr) -> bool:
    """Whether it is a tuple of sizes: a shape, or all strides."""
    match expr:
        case Attr(_, "shape") | Call(Attr(_, "size" | "stride"), (), ()):
            return True
        case Subscript(inner, key) if not isinstance(key, Const):
            return _is_sizes(inner)
        case _:
            return False


def _are_integers(project: Project, expr: Expr, place: _IntegerPoint, steps: int) -> bool:
    """Whether it is a display of sizes, some of them unpacked: `*x.shape, y.shape[-1]`."""
    return isinstance(expr, TupleExpr) and all(
        _is_sizes(item.value) if isinstance(item, Star) else _is_integer(project, item, place, steps - 1)
        for item in expr.items
    )


def _is_integer_name_of_sizes(project: Project, expr: Expr, place: _IntegerPoint) -> bool:
    """Whether it is a name that was bound to a shape: `shape = x.shape`."""
    if not isinstance(expr, Name):
        return False
    found = reaching_definitions(place.function, expr.id, place.order, place.arms)
    return found.certain and all(_is_sizes(binding.value) for binding in found.bindings)


def _is_integer_name(project: Project, name: str, place: _IntegerPoint, steps: int) -> bool:
    module, function = place.module, place.function
    if name in function.globals:
        return False
    found = reaching_definitions(function, name, place.order, place.arms)
    for binding in found.bindings:
        inner = place._replace(order=binding.order, arms=binding.arms)
        if not _is_integer(project, binding.value, inner, steps):
            return False
    if found.certain:
        return True
    param = next((param for param in function.params if param.name == name), None)
    if param is not None:
        if param.variadic or (param.default is not None and not _is_integer(project, param.default, place, steps)):
            return False
        is_optional = param.default is not None
        return param.annotation == "int" or _is_integer_from_callers(project, name, is_optional, place, steps)
    if found.bindings:
        return False
    outer = module.functions.get(function.parent or "<module>")
    if outer is None or outer is function:
        return False
    return (
        _is_integer_name(project, name, _IntegerPoint(module, outer, _END, (), place.callers), steps)
        if steps
        else False
    )


def _is_integer_from_callers(project: Project, name: str, is_optional: bool, place: _IntegerPoint, steps: int) -> bool:
    """Whether every call of the function in sight gives an integer as `name`; there must be one."""
    if place.callers == 0 or steps == 0:
        return False
    told = False
    for number, caller in enumerate(interpreter_of(project).callers.of(place.module, place.function)):
        given = bind(place.function, caller.site.call).get(name)
        inner = _IntegerPoint(caller.module, caller.function, caller.site.order, caller.site.arms, place.callers - 1)
        if number == _MOST_CALLERS or (given is None and not is_optional):
            return False
        if given is not None and not _is_integer(project, given, inner, steps):
            return False
        told = True
    return told

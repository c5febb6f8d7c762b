"""Expressions to whether they are integers for certain: not None, not a truth value, not a fraction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.nesting import with_own_stack
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
from triton_doctor.static.variability.definitions import find_arguments, find_definitions
from triton_doctor.static.variability.launch_hints import interpreter_of

if TYPE_CHECKING:
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.variability.interpreter import Interpreter
    from triton_doctor.static.variability.program_point import ProgramPoint

_INTEGER_OPERATORS = frozenset({"+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^"})
_INTEGER_FUNCTIONS = frozenset(
    "len int cdiv next_power_of_2 numel nelement dim ndimension bit_length device_count".split()
)
_INTEGER_OF_MODULES = frozenset({"math.ceil", "math.floor", "math.gcd", "math.isqrt"})
_OF_ARGUMENTS = frozenset({"min", "max", "abs", "sum"})


def is_integer(project: Project, launch: LinkedLaunch, expr: Expr) -> bool:
    """Whether `expr` is an integer wherever `launch` is reached from; False where it cannot be told."""
    interpreter = interpreter_of(project)
    try:
        return with_own_stack(_is_integer, interpreter, expr, interpreter.at(launch))
    except RecursionError:
        return False


def _is_integer(interpreter: Interpreter, expr: Expr, point: ProgramPoint) -> bool:
    match expr:
        case Const(value):
            return type(value) is int
        case BinaryOp(op, operands):
            return op in _INTEGER_OPERATORS and all(_is_integer(interpreter, one, point) for one in operands)
        case Conditional(_, options):
            return all(_is_integer(interpreter, one, point) for one in options)
        case Call(func, args, _):
            return _is_integer_call(interpreter, func, args, point)
        case Subscript(inner, Const(int())):
            return _is_sizes(inner) or _are_sizes_by_name(inner, point)
        case Unpacked(value, position, _, _) if position is not None:
            if isinstance(value, TupleExpr) and not any(isinstance(item, Star) for item in value.items):
                return position < len(value.items) and _is_integer(interpreter, value.items[position], point)
            return _is_sizes(value) or _are_integers(interpreter, value, point) or _are_sizes_by_name(value, point)
        case IterItem(Call(Name("range"))):
            return True
        case Name(name):
            key = ("integer", point.frame, name, point.order, point.arms)
            return interpreter.evaluations.answer(
                key, lambda: _is_integer_name(interpreter, name, point), neutral=True, beyond=False
            )
        case _:
            return False


def _is_integer_call(interpreter: Interpreter, func: Expr, args: tuple[Expr, ...], point: ProgramPoint) -> bool:
    name = func.name if isinstance(func, Attr) else func.id if isinstance(func, Name) else ""
    if name in ("size", "stride") and isinstance(func, Attr):
        return len(args) == 1
    if name in _OF_ARGUMENTS and isinstance(func, Name):
        if len(args) == 1:
            return _holds_integers(args[0], point.frame.function)
        return bool(args) and all(_is_integer(interpreter, one, point) for one in args)
    return name in _INTEGER_FUNCTIONS or dotted(func) in _INTEGER_OF_MODULES


def _holds_integers(expr: Expr, function: Function) -> bool:
    """Whether it is a parameter that is annotated to, `list[int]`, and never bound anew."""
    if not isinstance(expr, Name) or expr.id in function.bindings:
        return False
    return any(param.name == expr.id and param.items == "int" for param in function.params)


def _is_sizes(expr: Expr) -> bool:
    """Whether it is a tuple of sizes: a shape, or all strides."""
    match expr:
        case Attr(_, "shape") | Call(Attr(_, "size" | "stride"), (), ()):
            return True
        case Subscript(inner, key) if not isinstance(key, Const):
            return _is_sizes(inner)
        case _:
            return False


def _are_integers(interpreter: Interpreter, expr: Expr, point: ProgramPoint) -> bool:
    """Whether it is a display of sizes, some of them unpacked: `*x.shape, y.shape[-1]`."""
    return isinstance(expr, TupleExpr) and all(
        _is_sizes(item.value) if isinstance(item, Star) else _is_integer(interpreter, item, point)
        for item in expr.items
    )


def _are_sizes_by_name(expr: Expr, point: ProgramPoint) -> bool:
    """Whether it is a name that was bound to a shape: `shape = x.shape`."""
    if not isinstance(expr, Name):
        return False
    found = reaching_definitions(point.frame.function, expr.id, point.order, point.arms)
    return found.certain and all(_is_sizes(binding.value) for binding in found.bindings)


def _is_integer_name(interpreter: Interpreter, name: str, point: ProgramPoint) -> bool:
    definitions = find_definitions(interpreter, name, point)
    if not definitions.is_complete or not all(
        _is_integer(interpreter, one.value, one.point) for one in definitions.found
    ):
        return False
    param = definitions.param
    if param is None:
        return bool(definitions.found)
    if param.annotation == "int":
        return param.default is None or _is_integer(interpreter, param.default, point)
    arguments = find_arguments(interpreter, param, point.frame)
    return arguments.is_complete and all(_is_integer(interpreter, one.value, one.point) for one in arguments.found)

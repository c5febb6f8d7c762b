"""What else rules ask of an expression: whether it is an integer, and which literals it may be."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.nesting import with_own_stack
from triton_doctor.static.python.ir import Conditional, Const, Expr, Name
from triton_doctor.static.variability.definitions import Definition, find_arguments, find_definitions
from triton_doctor.static.variability.launch_hints import interpreter_of
from triton_doctor.static.variability.program_point import end_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.variability.interpreter import Interpreter
    from triton_doctor.static.variability.program_point import ProgramPoint


class Literal(NamedTuple):
    """A literal, and the line that it stands in."""

    value: object
    path: str
    line: int


def is_integer(project: Project, launch: LinkedLaunch, expr: Expr) -> bool:
    """Whether `expr` is an integer wherever `launch` is reached from; False where that is not known."""
    interpreter = interpreter_of(project)
    with suppress(RecursionError):
        return with_own_stack(interpreter.number, expr, interpreter.at(launch)).is_integer
    return False


def find_literals(project: Project, launch: LinkedLaunch, expr: Expr) -> tuple[Literal, ...]:
    """The literals that `expr` may be at `launch`; there may be other values, which are not found."""
    interpreter = interpreter_of(project)
    return _collect(interpreter, Definition("", expr, interpreter.at(launch), launch.launch.span.line))


def find_module_literals(project: Project, path: str, expr: Expr, line: int) -> tuple[Literal, ...]:
    """The literals that `expr` may be at the top level of the module at `path`, after all of its statements."""
    interpreter = interpreter_of(project)
    module = project.modules.get(path)
    top = module.functions.get("<module>") if module is not None else None
    if module is None or top is None:
        return ()
    return _collect(interpreter, Definition("", expr, end_of(interpreter.frame(module, top)), line))


def _collect(interpreter: Interpreter, definition: Definition) -> tuple[Literal, ...]:
    return tuple(dict.fromkeys(_literals_of(interpreter, definition)))


def _literals_of(interpreter: Interpreter, definition: Definition) -> Iterator[Literal]:
    match definition.value:
        case Const(value):
            yield Literal(value, definition.point.frame.module.path, definition.line)
        case Conditional(test, options) if test is not None:
            for option in options:
                yield from _literals_of(interpreter, definition._replace(value=option))
        case Name(name):
            point = definition.point
            key = ("literals", point.frame, name, point.order, point.arms)
            yield from interpreter.evaluations.answer(
                key, lambda: _literals_of_name(interpreter, name, point), neutral=(), beyond=()
            )
        case _:
            pass


def _literals_of_name(interpreter: Interpreter, name: str, point: ProgramPoint) -> tuple[Literal, ...]:
    definitions = find_definitions(interpreter, name, point)
    found = dict.fromkeys(one for each in definitions.found for one in _literals_of(interpreter, each))
    if definitions.param is not None:
        passed = find_arguments(interpreter, definitions.param, point.frame).found
        found.update(dict.fromkeys(one for each in passed for one in _literals_of(interpreter, each)))
    return tuple(found)

"""Further queries of rules about an expression: is it an integer, and which literals may it be?"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from triton_doctor.nesting import with_own_stack
from triton_doctor.static.variability.queries.launch_hints import interpreter_of
from triton_doctor.static.variability.values.lattice import AbstractNumber
from triton_doctor.static.variability.values.program_point import end_of
from triton_doctor.static.variability.values.trace import Literal
from triton_doctor.static.variability.values.values import SymbolicValue, Union

if TYPE_CHECKING:
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.program_point import ProgramPoint
    from triton_doctor.static.variability.values.trace import CallerValues
    from triton_doctor.static.variability.values.values import Value


def is_integer(project: Project, launch: LinkedLaunch, expr: Expr) -> bool:
    """Return whether `expr` is certainly an integer, for every caller of the function with `launch`."""
    interpreter = interpreter_of(project)
    with suppress(RecursionError):
        return with_own_stack(interpreter.number, expr, interpreter.at(launch)).is_integer
    return False


def find_literals(project: Project, launch: LinkedLaunch, expr: Expr) -> tuple[Literal, ...]:
    """Return literals that `expr` may be at `launch`; there may be other values too."""
    interpreter = interpreter_of(project)
    return literals_at(interpreter, expr, interpreter.at(launch))


def find_module_literals(project: Project, path: str, expr: Expr, line: int) -> tuple[Literal, ...]:
    """Return literals that `expr` may be at the top level of the module at `path`, after all its statements."""
    interpreter = interpreter_of(project)
    module = project.modules.get(path)
    return () if module is None else literals_at(interpreter, expr, end_of(interpreter.frame(module, module.top), line))


def literals_at(interpreter: Interpreter, expr: Expr, point: ProgramPoint) -> tuple[Literal, ...]:
    """Return literals that `expr` may be at `point`."""
    with suppress(RecursionError):
        return with_own_stack(lambda: _literals_of(interpreter, interpreter.value(expr, point)))
    return ()


def _literals_of(interpreter: Interpreter, value: Value, depth: int = 0) -> tuple[Literal, ...]:
    """Return literals that `value` may be, including those that callers pass if it is a parameter."""
    match value:
        case AbstractNumber():
            sources = value.literals
        case SymbolicValue():
            sources = value.number.literals
        case Union(options):
            return tuple(dict.fromkeys(one for option in options for one in _literals_of(interpreter, option, depth)))
        case _:
            return ()
    found: dict[Literal, None] = {}
    for source in sources:
        found |= dict.fromkeys(
            [source] if isinstance(source, Literal) else _literals_passed(interpreter, source, depth)
        )
    return tuple(found)


def _literals_passed(interpreter: Interpreter, parameter: CallerValues, depth: int) -> tuple[Literal, ...]:
    key = ("literals", id(parameter.function), parameter.name, depth)
    return interpreter.evaluations.evaluate(
        key,
        lambda: tuple(
            one
            for value in interpreter.caller_arguments.passed(parameter, depth)
            for one in _literals_of(interpreter, value, depth + 1)
        ),
        on_cycle=(),
        beyond_limit=(),
    )

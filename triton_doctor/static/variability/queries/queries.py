"""What is certain of an argument: whether it is an integer, its literals, and whether a range ends at it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from triton_doctor.nesting import with_own_stack
from triton_doctor.static.project.launches.launches import spelled_out
from triton_doctor.static.python.ir import Const, Name
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of
from triton_doctor.static.variability.values.lattice import AbstractNumber, Literal
from triton_doctor.static.variability.values.values import SymbolicValue, Union, end_of

if TYPE_CHECKING:
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Kernel
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.queries.parameters import Parameter, ParameterSource
    from triton_doctor.static.variability.values.lattice import CallerValues
    from triton_doctor.static.variability.values.values import ProgramPoint, Value


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
            return tuple(
                dict.fromkeys(literal for option in options for literal in _literals_of(interpreter, option, depth))
            )
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
            literal
            for value in interpreter.caller_arguments.passed(parameter, depth)
            for literal in _literals_of(interpreter, value, depth + 1)
        ),
        on_cycle=(),
        beyond_limit=(),
    )


def find_range_end(project: Project, parameter: Parameter, source: ParameterSource) -> Kernel | None:
    """Return the kernel in which a range from 0 ends at `source`, the value of `parameter`, at every launch.

    Else None.
    """
    if _ends_range(parameter.kernel, parameter.param.name):
        return parameter.kernel
    if not isinstance(source.expr, Name):
        return None
    for launch in project.launches:
        is_sure = len(launch.kernels) == 1 and set(launch.launch.arms) <= set(source.launch.launch.arms)
        if not is_sure or launch.function is not source.launch.function:
            continue
        (kernel,) = launch.kernels
        for name, argument in spelled_out(launch, kernel).items():
            if argument.value == source.expr and _ends_range(kernel, name) and _is_same(launch, source, source.expr):
                return kernel
    return None


def _ends_range(kernel: Kernel, name: str) -> bool:
    return any(
        arange.start == Const(0) and arange.end == Name(name) and not arange.conditional
        for arange in kernel.uses.aranges
    )


def _is_same(launch: LinkedLaunch, source: ParameterSource, name: Name) -> bool:
    """Return whether `name` has the same value at both launches."""
    at, other = launch.launch, source.launch.launch
    here, there = (reaching_definitions(launch.function, name.id, point.order, point.arms) for point in (at, other))
    return here == there and (here.certain or not here.bindings)

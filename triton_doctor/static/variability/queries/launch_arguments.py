"""Launches to arguments: the expression and value for each parameter of a kernel, including stars and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.project.launches.argument_positions import match_positions
from triton_doctor.static.python.ir import Call, Const, DictExpr, Name
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.variability.models.lengths import unpacked_count
from triton_doctor.static.variability.values.values import DictValue

if TYPE_CHECKING:
    from triton_doctor.finding import Span
    from triton_doctor.static.project.project import LinkedLaunch
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Kernel
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.program_point import ProgramPoint
    from triton_doctor.static.variability.values.values import Value


class LaunchArgument(NamedTuple):
    """The argument for one parameter. `expr` is None if it comes from a table made elsewhere."""

    expr: Expr | None
    value: Value
    span: Span


def bind_arguments(
    launch: LinkedLaunch, kernel: Kernel, interpreter: Interpreter, names: frozenset[str] | None = None
) -> dict[str, LaunchArgument]:
    """Return the arguments of `launch` by parameter of `kernel`, and its options; only those in `names` if given.

    Positional arguments are left out if a starred one makes their parameters ambiguous.
    """
    point = interpreter.at(launch)
    found: dict[str, LaunchArgument] = {}

    def count_of(starred: Expr) -> int | None:
        return unpacked_count(interpreter.value(starred, point))

    def names_of(table: Expr) -> frozenset[str] | None:
        value = interpreter.value(table, point)
        is_known = isinstance(value, DictValue) and not value.open
        return frozenset(_table(table, interpreter, point)) if is_known else None

    for param, argument, expr in match_positions(launch.launch, kernel, count_of, names_of):
        if names is None or param in names:
            found[param] = LaunchArgument(expr=expr, value=interpreter.value(expr, point), span=argument.span)
    for argument in launch.launch.arguments:
        if argument.name is None:
            continue
        if argument.name == "**":
            for name, (spelled, value) in _table(argument.value, interpreter, point).items():
                if names is None or name in names:
                    found.setdefault(name, LaunchArgument(expr=spelled, value=value, span=argument.span))
        elif names is None or argument.name in names:
            value = interpreter.value(argument.value, point)
            found[argument.name] = LaunchArgument(expr=argument.value, value=value, span=argument.span)
    return found


def _table(expr: Expr, interpreter: Interpreter, point: ProgramPoint) -> dict[str, tuple[Expr | None, Value]]:
    """Return the entries of `**table`: those in its display, and those stored before the launch."""
    value = interpreter.value(expr, point)
    spelled = _spelled_entries(expr, point)
    entries: dict[str, tuple[Expr | None, Value]] = {}
    if isinstance(value, DictValue):
        entries.update((name, (spelled.get(name), entry)) for name, entry in value.items.items())
    if isinstance(expr, Name):
        for stored in point.frame.function.stored:
            if stored.base == expr.id and stored.order < point.order:
                entries[stored.name] = (stored.value, interpreter.value(stored.value, point))
    return entries


def _spelled_entries(expr: Expr, point: ProgramPoint) -> dict[str, Expr]:
    """Return the expressions of a table written out here, or in the only assignment of its name."""
    if isinstance(expr, Name):
        bound = reaching_definitions(point.frame.function, expr.id, point.order, point.arms)
        if not bound.certain or len(bound.bindings) != 1:
            return {}
        expr = bound.bindings[0].value
    match expr:
        case DictExpr(items):
            return {key.value: value for key, value in items if isinstance(key, Const) and isinstance(key.value, str)}
        case Call(Name("dict"), _, keywords):
            return {name: value for name, value in keywords if name is not None}
        case _:
            return {}

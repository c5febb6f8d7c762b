"""How kernels use their parameters, and the expressions that launches pass for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.project.launches.argument_positions import match_positions
from triton_doctor.static.project.limits import MOST_DEPTH
from triton_doctor.static.python.ir import (
    BinaryOp,
    Call,
    Const,
    DictExpr,
    Expr,
    Lambda,
    Name,
    Subscript,
    TupleExpr,
    every_part,
    final_name,
)
from triton_doctor.static.python.module import Kernel
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.variability.models.lengths import unpacked_count
from triton_doctor.static.variability.models.python import LAUNCH_OPTIONS
from triton_doctor.static.variability.values.values import DictValue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.finding import Span
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.values import ProgramPoint, Value

_DIVISIONS = frozenset({"cdiv", "ceil_div", "ceildiv", "div_up", "div_ceil"})


class ParameterUses:
    """Computes uses: `compile_time`, `read` or `unread`. `launches` are by the key of their kernel."""

    def __init__(self, project: Project, launches: Mapping[tuple[str, str, int], Sequence[LinkedLaunch]]) -> None:
        self._project = project
        self._launches = launches

    def without_need(self, kernel: Kernel, name: str) -> str:
        """Return the use of the parameter `name` if nothing needs it at compile time."""
        return "read" if name in kernel.uses.read or self._serves(kernel, name) else "unread"

    def need(self, kernel: Kernel, name: str, depth: int = MOST_DEPTH) -> str | None:
        """Return why the kernel, or a jit function that it passes the name to, needs the value at compile time.

        `block`, `unrolled`, `branch` or `other`, as in `BodyUses.needed`; None if it does not.
        """
        if name in kernel.uses.needed:
            return kernel.uses.needed[name]
        if depth == 0:
            return None
        module = self._project.modules.get(kernel.path)
        for callee, target, passed in kernel.uses.passes if module is not None else ():
            if passed != name or module is None or (callee, target, passed) in kernel.uses.passes_at_run_time:
                continue
            found = self._project.names.defined(module, callee)
            if not isinstance(found, Kernel):
                continue
            if isinstance(target, int):
                target = found.params[target].name if target < len(found.params) else ""
            reason = self.need(found, target, depth - 1)
            if reason is not None:
                return reason
        return None

    def _serves(self, kernel: Kernel, name: str) -> bool:
        """Return whether a name that the body never reads is used by options, grid, tuning or a heuristic."""
        tuned = kernel.autotune
        if name in LAUNCH_OPTIONS or (tuned is not None and (name in tuned.key or name in (tuned.sets or ()))):
            return True
        if any(name in keys(heuristic.value) for heuristic in kernel.heuristics):
            return True
        for launch in self._launches.get(kernel.key, ()):
            if any(name in keys(expr) for expr in grid_expressions(launch)):
                return True
        return False


def grid_expressions(launch: LinkedLaunch) -> list[Expr]:
    """Return the sizes of a launch's grid: from a tuple, or the result of a lambda or nested function."""
    grid = launch.launch.grid
    found = [grid] if grid is not None else []
    if isinstance(grid, Name):
        bound = reaching_definitions(launch.function, grid.id, launch.launch.order, launch.launch.arms).bindings
        inner = launch.module.functions.get(f"{launch.function.qualname}.<locals>.{grid.id}")
        found = [binding.value for binding in bound] + [returned.value for returned in (inner.returns if inner else ())]
    bodies = [value.body if isinstance(value, Lambda) else value for value in found]
    return [size for body in bodies for size in (body.items if isinstance(body, TupleExpr) else (body,))]


def spanned_expressions(launch: LinkedLaunch) -> Iterator[Expr]:
    """Yield the factors of the grid's sizes: `n` and `heads` for `(triton.cdiv(n, BLOCK) * heads,)`."""
    pending = grid_expressions(launch)
    while pending:
        match pending.pop():
            case BinaryOp("*", factors):
                pending += factors
            case BinaryOp("//", (number, _)):
                pending.append(number)
            case Call(func, (number, _), ()) if final_name(func) in _DIVISIONS:
                pending.append(number)
            case factor:
                yield factor


def divided_expressions(launch: LinkedLaunch) -> Iterator[Expr]:
    """Yield what the grid's sizes divide by a block: `n` for `(triton.cdiv(n, BLOCK), heads)`."""
    for size in grid_expressions(launch):
        for factor in size.operands if isinstance(size, BinaryOp) and size.op == "*" else (size,):
            match factor:
                case Call(func, (number, _), ()) if final_name(func) in _DIVISIONS:
                    yield number


def keys(expr: Expr) -> frozenset[str]:
    """Return the strings that `expr` indexes with: `meta["BLOCK"]`."""
    return frozenset(
        part.key.value
        for part in every_part(expr)
        if isinstance(part, Subscript) and isinstance(part.key, Const) and isinstance(part.key.value, str)
    )


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
    spelled = spelled_entries(expr, point)
    entries: dict[str, tuple[Expr | None, Value]] = {}
    if isinstance(value, DictValue):
        entries.update((name, (spelled.get(name), entry)) for name, entry in value.items.items())
    if isinstance(expr, Name):
        for stored in point.frame.function.stored:
            if stored.base == expr.id and stored.order < point.order:
                entries[stored.name] = (stored.value, interpreter.value(stored.value, point))
    return entries


def spelled_entries(expr: Expr, point: ProgramPoint) -> dict[str, Expr]:
    """Return the expressions of a table written out here, or in the only assignment of its name."""
    if isinstance(expr, Name):
        bound = reaching_definitions(point.frame.function, expr.id, point.order, point.arms)
        if not bound.certain or len(bound.bindings) != 1:
            return {}
        expr = bound.bindings[0].value
    return entries_of(expr)


def entries_of(table: Expr) -> dict[str, Expr]:
    """Return the expressions of a table that is written out."""
    match table:
        case DictExpr(items):
            return {key.value: value for key, value in items if isinstance(key, Const) and isinstance(key.value, str)}
        case Call(Name("dict"), _, keywords):
            return {name: value for name, value in keywords if name is not None}
        case _:
            return {}

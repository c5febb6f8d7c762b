"""The use of a kernel's parameter: needed at compile time, only read, or unread; across nested jit functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.project.limits import MOST_DEPTH
from triton_doctor.static.python.ir import (
    BinaryOp,
    Call,
    Const,
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
from triton_doctor.static.variability.models.triton import LAUNCH_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.static.project.project import LinkedLaunch, Project

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
        """Return whether a name that the body never reads is used otherwise: as an option, in the grid, by tuning or a
        heuristic.
        """
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
        found = [binding.value for binding in bound] + [one.value for one in (inner.returns if inner else ())]
    bodies = [one.body if isinstance(one, Lambda) else one for one in found]
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

"""Launches to whether a size comes in whole blocks: `grid = (n // 128,)` of a kernel that masks nothing.

The remainder of such a division is never computed, so that the function is right for multiples of the block alone.
Whoever calls it prepares such sizes, as a fixed length of context or by padding: data of any length never get there.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from triton_doctor.nesting import with_own_stack
from triton_doctor.static.project.launches.launches import origin_of
from triton_doctor.static.project.project import LinkedLaunch
from triton_doctor.static.python.ir import BinaryOp, Const, Name
from triton_doctor.static.variability.arithmetic import dividend
from triton_doctor.static.variability.parameter_uses import grid_expressions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Kernel
    from triton_doctor.static.variability.interpreter import Interpreter
    from triton_doctor.static.variability.lattice import AbstractNumber

# Multiples of less are met by chance.
_SMALLEST_BLOCK = 16


def explain_whole_blocks(
    interpreter: Interpreter, launch: LinkedLaunch, kernel: Kernel, number: AbstractNumber
) -> str | None:
    """Why `number`, which `launch` gives `kernel`, has few values: its axes come in whole blocks. None where not so."""
    if kernel.may_mask or kernel.bounds or number.from_data or not number.atoms:
        return None
    with suppress(RecursionError):
        return with_own_stack(_explain, interpreter, launch, number)
    return None


def _explain(interpreter: Interpreter, launch: LinkedLaunch, number: AbstractNumber) -> str | None:
    for one in launch.function.launches:
        other = LinkedLaunch(module=launch.module, function=launch.function, launch=one, kernels=())
        point = interpreter.at(other)
        if any(number.atoms <= interpreter.number(size, point).atoms for size in _whole_blocks(other)):
            return "the grid leaves out what does not fill a block, so that only sizes of whole blocks work"
    return None


def _whole_blocks(launch: LinkedLaunch) -> Iterator[Expr]:
    """The sizes of a launch's grid that count whole blocks."""
    pending = grid_expressions(launch)
    while pending:
        match size := origin_of(launch, pending.pop()):
            case BinaryOp("*", factors):
                pending += factors
            case BinaryOp("//", (over, under)) if dividend(over, under) is over and not _is_sum(launch, over):
                if _block_size(launch, under) >= _SMALLEST_BLOCK:
                    yield size
            case _:
                pass


def _is_sum(launch: LinkedLaunch, expr: Expr) -> bool:
    """Whether something was added, as to round up."""
    return isinstance(found := origin_of(launch, expr), BinaryOp) and found.op in "+-"


def _block_size(launch: LinkedLaunch, expr: Expr) -> int:
    """The number that `expr` is, or that it is unless a caller says otherwise; 0 where neither is known."""
    found = origin_of(launch, expr)
    if isinstance(found, Name):
        default = next((param.default for param in launch.function.params if param.name == found.id), None)
        found = default if default is not None else found
    return found.value if isinstance(found, Const) and type(found.value) is int else 0

"""Where an expression is evaluated: a function with its arguments, and a position in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triton_doctor.static.python.function import BranchArm, Function
    from triton_doctor.static.python.ir import Call, Expr
    from triton_doctor.static.python.module import Module
    from triton_doctor.static.variability.values.values import Lazy, Value

# After every event of a function.
END = 1 << 30


# Not frozen: every followed call creates some, and construction of a frozen one takes three times as long.
@dataclass(slots=True, eq=False)
class CallFrame:
    """A function, entered from a call with `arguments`, or from unknown callers (None).

    An argument is a value, or a promise of one; `call` passes them, if it is known. `depth` counts the calls followed
    so far, inwards and outwards. `values` caches the values of names and calls, `parts` those of other expressions,
    together with the expression, and `truths` those of tests, by branch.
    """

    module: Module
    function: Function
    arguments: Mapping[str, Value | Lazy] | None = None
    depth: int = 0
    call: Call | None = None
    truths: dict[int, bool | None] | None = None
    values: dict[tuple[object, ...], Value] = field(default_factory=dict)
    parts: dict[tuple[object, ...], tuple[Expr, Value]] = field(default_factory=dict)


class ProgramPoint(NamedTuple):
    """A point in a frame: after the event `order`, inside `arms`.

    `local` are the names of a lambda or comprehension. `line` is that of the statement.
    """

    frame: CallFrame
    order: int
    arms: tuple[BranchArm, ...] = ()
    local: Mapping[str, Value] | None = None
    line: int = 0

    def binding(self, local: Mapping[str, Value]) -> ProgramPoint:
        """Return the same point with further local names."""
        return self._replace(local={**(self.local or {}), **local})


def end_of(frame: CallFrame, line: int = 0) -> ProgramPoint:
    """Return the point after all statements of a function, for an expression on `line`."""
    return ProgramPoint(frame, END, line=line)

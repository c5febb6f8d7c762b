"""Where an expression is evaluated: a function, with what is known of its arguments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triton_doctor.static.python.function import BranchArm, Function
    from triton_doctor.static.python.ir import Call, Expr
    from triton_doctor.static.python.module import Module
    from triton_doctor.static.variability.values import Lazy, Value

# Behind every event of a function.
END = 1 << 30


# Not frozen: each call that is followed makes some, and to make one that is frozen takes three times as long.
@dataclass(slots=True, eq=False)
class CallFrame:
    """A function, entered from a call with `arguments`, or from nowhere: then its callers are looked for.

    An argument is a value, or a promise of it; `call` is the one that passes them, where that is at hand. `depth` is
    the number of calls followed so far, inwards and outwards. `values` are those of names and calls in the function,
    `parts` those of its other expressions, with the expression, `truths` those of tests, by their branch.
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
    """A point in a frame: after the event `order`, inside `arms`. `local` are a lambda's or comprehension's names.

    `line` is that of the statement.
    """

    frame: CallFrame
    order: int
    arms: tuple[BranchArm, ...] = ()
    local: Mapping[str, Value] | None = None
    line: int = 0

    def binding(self, local: Mapping[str, Value]) -> ProgramPoint:
        """The same point, with further local names."""
        return self._replace(local={**(self.local or {}), **local})


def end_of(frame: CallFrame, line: int = 0) -> ProgramPoint:
    """The point after all of a function's statements, for an expression on `line`."""
    return ProgramPoint(frame, END, line=line)

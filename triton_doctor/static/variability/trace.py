"""Where values come from: the steps on their way, spelled only for a finding, and the literals that they may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.finding import Step
from triton_doctor.static.python.printing import spell

if TYPE_CHECKING:
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Expr


class Note(NamedTuple):
    """A step at a line of a file; `{}` in `text` stands for `expr` as the user would write it."""

    path: str
    line: int
    text: str
    expr: Expr | None = None

    def step(self) -> Step:
        """The step as findings tell it."""
        return Step(self.path, self.line, self.text if self.expr is None else self.text.replace("{}", spell(self.expr)))


class Literal(NamedTuple):
    """A literal, and the line that it stands in; of equal values, 1, 1.0 and True, `kind` tells which it is."""

    value: object
    kind: type
    path: str
    line: int


class Passed(NamedTuple):
    """What callers pass for the parameter `name` of `function`, or its default."""

    function: Function
    name: str

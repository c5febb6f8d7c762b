"""Steps on the path of a value, formatted only for findings, and the literals that a value may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.finding import Step
from triton_doctor.static.python.printing import spell

if TYPE_CHECKING:
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Expr


class Note(NamedTuple):
    """A step at a line of a file; `{}` in `text` stands for the spelled expression `expr`."""

    path: str
    line: int
    text: str
    expr: Expr | None = None

    def step(self) -> Step:
        """Return the step in the form of findings."""
        return Step(self.path, self.line, self.text if self.expr is None else self.text.replace("{}", spell(self.expr)))


class Literal(NamedTuple):
    """A literal and its line; `kind` distinguishes equal values such as 1, 1.0 and True."""

    value: object
    kind: type
    path: str
    line: int


class CallerValues(NamedTuple):
    """The arguments of callers for the parameter `name` of `function`, or its default."""

    function: Function
    name: str

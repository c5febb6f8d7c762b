"""What a model needs of the interpreter: values of expressions, and parts of values, through callers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.values.lattice import AbstractNumber
    from triton_doctor.static.variability.values.values import CallFrame, ProgramPoint, SymbolicValue, Tensor, Value


class Evaluator(Protocol):
    """Evaluates expressions of `project`; the interpreter does it by following names, calls and callers."""

    project: Project

    def value(self, expr: Expr, point: ProgramPoint) -> Value:
        """Return the value of `expr` at `point`."""
        ...

    def number(self, expr: Expr, point: ProgramPoint) -> AbstractNumber:
        """Return `expr` at `point` as an abstract number."""
        ...

    def as_number(self, value: Value, frame: CallFrame) -> AbstractNumber:
        """Return `value` as a number or flag."""
        ...

    def axis(self, value: Tensor | SymbolicValue, position: int, frame: CallFrame) -> AbstractNumber:
        """Return `value.shape[position]`."""
        ...

    def numel(self, value: Tensor | SymbolicValue, frame: CallFrame) -> AbstractNumber:
        """Return the product of all axes of `value`."""
        ...

    def stride(self, value: Tensor | SymbolicValue, position: int, frame: CallFrame) -> AbstractNumber:
        """Return `value.stride(position)`."""
        ...

    def part(self, value: Value, position: int, size: int, is_open: bool, frame: CallFrame) -> Value | None:
        """Return one target of unpacking `value`; None if the sizes do not fit."""
        ...

    def length(self, value: Value, frame: CallFrame) -> AbstractNumber:
        """Return `len(value)`."""
        ...

    def passed_length(self, symbol: SymbolicValue, frame: CallFrame) -> AbstractNumber | None:
        """Return the length of what callers pass for `symbol`; None if they do not decide it."""
        ...

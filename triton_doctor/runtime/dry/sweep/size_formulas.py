"""Formulas over the dimensions of a sweep: what they compute, how they read, and how their values grow.

`cdiv(batch*length, 132)` is `Formula("cdiv", (product of the sizes, 132))`. A formula is a value: it is compared, kept
and evaluated at any point, also where nothing was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Value = None | bool | int | float | str


class Growth(StrEnum):
    """How many values there are as the sizes grow: a fixed number, one each doubling, or ever more."""

    BOUNDED = "bounded"
    LOG2 = "log2"
    UNBOUNDED = "unbounded"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Formula:
    """An operation on its operands: formulas, numbers, and for `size` the name of a dimension."""

    operation: str
    operands: tuple[Formula | Value, ...]

    def evaluate(self, sizes: Mapping[str, int]) -> Value:
        """Return the value of the formula for the given `sizes` by dimension name."""
        if self.operation == "size":
            return sizes[str(self.operands[0])]
        return COMPUTE[self.operation](*(_value(operand, sizes) for operand in self.operands))

    @property
    def dimensions(self) -> frozenset[str]:
        """Return the names of the dimensions that the formula uses."""
        if self.operation == "size":
            return frozenset({str(self.operands[0])})
        inner = (operand for operand in self.operands if isinstance(operand, Formula))
        return frozenset().union(*(formula.dimensions for formula in inner))

    @property
    def cost(self) -> int:
        """Return a measure of complexity; among formulas that agree, the cheapest is reported."""
        own = {"size": 1, "product": 0, "sum": 1, "if": 4}.get(self.operation, 2)
        return own + sum(
            operand.cost if isinstance(operand, Formula) else _strange(operand) for operand in self.operands
        )

    @property
    def growth(self) -> Growth:
        """Return how the number of values grows with the sizes. A size itself is unbounded."""
        inner = [operand.growth for operand in self.operands if isinstance(operand, Formula)]
        match self.operation:
            case "size":
                return Growth.UNBOUNDED
            case "mod" | "divisible" | "equal" | "if":
                return Growth.BOUNDED
            case "next_power_of_2" | "log2":
                return Growth.LOG2 if Growth.BOUNDED not in inner else Growth.BOUNDED
            case "min" if len(inner) < len(self.operands):
                return Growth.BOUNDED
            case "min":
                return min(inner, key=_rank)
            case "cdiv" | "div" if len(inner) == 2:
                # While the divisor stays, the quotient grows as the dividend; where both follow one size it may not.
                free = inner[1] is Growth.BOUNDED or not _dimensions(self, 0) & _dimensions(self, 1)
                return inner[0] if free else Growth.UNKNOWN
            case _:
                return max(inner, key=_rank, default=Growth.BOUNDED)

    def __str__(self) -> str:
        return WRITE[self.operation](*self.operands) if self.operation in WRITE else self._call()

    def _call(self) -> str:
        return f"{self.operation}({', '.join(map(str, self.operands))})"


def size(name: str) -> Formula:
    """Return the formula for the size of dimension `name`."""
    return Formula("size", (name,))


def next_power_of_2(number: int) -> int:
    """Return the smallest power of two not below `number`, like `triton.next_power_of_2`; 0 for 0."""
    return 0 if number <= 0 else 1 << (number - 1).bit_length()


def cdiv(number: int, by: int) -> int:
    """Return the quotient rounded up, like `triton.cdiv`."""
    return -(-number // by)


COMPUTE: Mapping[str, Callable[..., Value]] = {
    "product": lambda *factors: prod(factors),
    "sum": lambda *terms: sum(terms),
    "cdiv": cdiv,
    "div": lambda number, by: number // by,
    "mod": lambda number, by: number % by,
    "next_power_of_2": next_power_of_2,
    "log2": lambda number: max(0, number.bit_length() - 1),
    "min": lambda *operands: min(operands),
    "max": lambda *operands: max(operands),
    "divisible": lambda number, by: number % by == 0,
    "equal": lambda number, other: number == other,
    "if": lambda number, limit, below, above: below if number <= limit else above,
}

WRITE: Mapping[str, Callable[..., str]] = {
    "size": str,
    "product": lambda *factors: "*".join(_bound(factor, {"sum", "if", "div", "mod"}) for factor in factors),
    "sum": lambda *terms: " + ".join(map(str, terms)).replace("+ -", "- "),
    "div": lambda number, by: f"{_bound(number, {'sum', 'if', 'product'})} // {_bound(by, {'sum', 'if', 'product'})}",
    "mod": lambda number, by: f"{_bound(number, {'sum', 'if'})} % {by}",
    "log2": lambda number: f"floor(log2({number}))",
    "divisible": lambda number, by: f"{_bound(number, {'sum', 'if'})} % {by} == 0",
    "equal": lambda number, other: f"{number} == {other}",
    "if": lambda number, limit, below, above: _choice(number, limit, below, above),
}


def _choice(number: Formula, limit: Value, below: Value, above: Formula | Value) -> str:
    if (below, above) == (True, False) and isinstance(below, bool):
        return f"{number} <= {limit}"
    if (below, above) == (False, True) and isinstance(below, bool):
        return f"{number} > {limit}"
    return f"{below!r} if {number} <= {limit} else {above if isinstance(above, Formula) else repr(above)}"


def _bound(operand: Formula | Value, loose: set[str]) -> str:
    """Return `operand` as text, in parentheses if its operation is in `loose`."""
    return f"({operand})" if isinstance(operand, Formula) and operand.operation in loose else str(operand)


def _value(operand: Formula | Value, sizes: Mapping[str, int]) -> Value:
    return operand.evaluate(sizes) if isinstance(operand, Formula) else operand


def _rank(growth: Growth) -> int:
    return list(Growth).index(growth)


def _dimensions(formula: Formula, position: int) -> frozenset[str]:
    operand = formula.operands[position]
    return operand.dimensions if isinstance(operand, Formula) else frozenset()


def _strange(number: Value) -> int:
    """Return how unlikely a constant is in source code, from 0 (small numbers, powers of two) to 2."""
    if not isinstance(number, int) or isinstance(number, bool):
        return 1
    magnitude = abs(number)
    return 0 if magnitude <= 4 or magnitude & (magnitude - 1) == 0 else 1 if magnitude % 4 == 0 else 2

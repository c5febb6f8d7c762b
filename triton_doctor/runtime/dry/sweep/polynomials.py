"""Sums of columns with whole factors that give a target exactly: `batch*length + 2*length + 1`."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from triton_doctor.runtime.dry.sweep.size_formulas import Formula

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.runtime.dry.sweep.size_formulas import Value

# A sum of more terms explains anything.
MOST_TERMS = 4
ROWS_TO_SPARE = 4


def fit_polynomial(columns: Sequence[tuple[Formula, Sequence[int]]], target: Sequence[int]) -> Formula | None:
    """Return the sum of `columns` with integer factors and a constant that equals `target`; None if not unique."""
    width = len(columns) + 1
    if len(target) < 2 * width:
        return None
    # Some of the rows decide; whoever takes the sum checks it on all.
    rows = [
        [Fraction(values[index]) for _, values in columns] + [Fraction(1), Fraction(target[index])]
        for index in range(0, len(target), max(1, len(target) // (2 * width + ROWS_TO_SPARE)))
    ]
    factors = _solve(rows, width)
    if factors is None or any(factor.denominator != 1 for factor in factors):
        return None
    terms: list[Formula | int] = [
        formula if factor == 1 else Formula("product", (int(factor), *_factors(formula)))
        for factor, (formula, _) in zip(factors, columns, strict=False)
        if factor
    ]
    terms += [int(factors[-1])] if factors[-1] else []
    return Formula("sum", tuple(terms)) if 1 < len(terms) <= MOST_TERMS else None


def _factors(formula: Formula) -> tuple[Formula | Value, ...]:
    return formula.operands if formula.operation == "product" else (formula,)


def _solve(rows: list[list[Fraction]], width: int) -> list[Fraction] | None:
    """Solve the overdetermined linear equations `rows`; None without exactly one solution."""
    for pivot in range(width):
        found = next((index for index in range(pivot, len(rows)) if rows[index][pivot]), None)
        if found is None:
            return None
        rows[pivot], rows[found] = rows[found], rows[pivot]
        lead = rows[pivot][pivot]
        rows[pivot] = [value / lead for value in rows[pivot]]
        for index, row in enumerate(rows):
            if index != pivot and row[pivot]:
                factor = row[pivot]
                rows[index] = [value - factor * other for value, other in zip(row, rows[pivot], strict=True)]
    if any(row[-1] for row in rows[width:]):
        return None
    return [rows[index][-1] for index in range(width)]

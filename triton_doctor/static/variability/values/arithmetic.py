"""Arithmetic on abstract numbers: the greatest kind of the operands, with the bounds and products that survive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import BinaryOp, Const
from triton_doctor.static.variability.hints.axis_context import AxisContext
from triton_doctor.static.variability.hints.hints import apply_hints
from triton_doctor.static.variability.values import tensors
from triton_doctor.static.variability.values.dims import Dim, DimProduct, RemainingDims
from triton_doctor.static.variability.values.lattice import FIXED, UNKNOWN, AbstractNumber, Variability, join

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.python.ir import Expr

# A size divided by at least _COARSE has few values: sizes of one axis stay below about a million.
_LARGEST_SIZE = 1 << 20
_COARSE = 1 << 16
# A cap that nearly all data reach: `min(128, n)` is 128 except for tiny inputs.
_LOW_CAP = 128


# Operators that map integers to integers; `/` and `**` may not.
_INTEGER_OPERATORS = frozenset({"+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^"})


def apply(op: str, operands: Sequence[AbstractNumber], *, is_sum: bool = False) -> AbstractNumber:
    """Return the value of `op` on one or two operands; `is_sum` if the first is written as a sum or a difference."""
    is_integer = op in _INTEGER_OPERATORS and all(operand.is_integer for operand in operands)
    return _apply(op, operands, is_sum=is_sum).with_integrality(is_integer=is_integer)


def _apply(op: str, operands: Sequence[AbstractNumber], *, is_sum: bool) -> AbstractNumber:
    if len(operands) == 1:
        return operands[0].without_literals()
    left, right = operands
    folded = _folded(op, left, right)
    if folded is not None:
        return folded
    joined = join(operands)
    divisor = right.literal if isinstance(right.literal, int) else None
    match op:
        case "*":
            return _with_trail(tensors.product(operands), joined)
        case "//" | "/":
            result = quotient(left, right, is_sum=is_sum)
            return coarse(result, divisor)
        case "%":
            if divisor is not None and divisor > 0:
                return joined._replace(low=0, high=divisor - 1)
            return UNKNOWN._replace(trail=joined.trail) if _may_cancel(right) else joined
        case "&":
            if divisor is not None and divisor >= 0:
                return joined._replace(low=0, high=divisor)
            return joined
        case "<<":
            if left.literal == 1:
                return power_of_two(right)._replace(low=1)
            return joined
        case "**":
            if left.literal == 2:
                return power_of_two(right)._replace(low=1)
            return joined
        case "-" if left.size is not None and right.size is not None and left.suggests_data and right.suggests_data:
            # The difference of two lengths may be constant whatever the data: 0, or one token.
            return UNKNOWN._replace(trail=joined.trail)
        case "+" | "-" if divisor is not None and left.high is not None:
            shift = divisor if op == "+" else -divisor
            return joined._replace(high=left.high + shift, low=(left.low or 0) + shift)
        case _:
            return joined


def dividend(over: Expr, under: Expr) -> Expr:
    """Return `a` for `(a + b - 1) // b`, which rounds up; `over` itself for other quotients."""
    match over:
        case BinaryOp("-", (BinaryOp("+", (first, other)), Const(1))) if under in (first, other):
            return first if other == under else other
        case BinaryOp("+", (first, BinaryOp("-", (other, Const(1))))) if other == under:
            return first
        case BinaryOp("+", (BinaryOp("-", (other, Const(1))), first)) if other == under:
            return first
        case _:
            return over


def quotient(left: AbstractNumber, right: AbstractNumber, *, is_sum: bool = False) -> AbstractNumber:
    """Return `left / right`. Axes that both contain cancel; a quotient of axes of the same kind is PER_MODEL.

    Nothing of a sum cancels: `(width + 2 * padding - kernel) // stride`.
    """
    size: DimProduct | None = None
    if left.size is not None and right.size is not None:
        size = left.size.divided_by(right.size)
        if left.size.over and not size.over and not size.under:
            return FIXED._replace(trail=left.trail)
        if _is_axis(left.size) and _is_axis(right.size):
            # Heads per key head, pairs per token: such a ratio belongs to the model.
            ratio = apply_hints(AxisContext(is_quotient=True), *_line(left))
            return UNKNOWN.add_hints(ratio)._replace(size=size, trail=left.trail)
        if size.over != left.size.over or _held(right.size, left.size):
            # The remaining axes of a view are open on purpose; the rest of a quotient is as likely a width.
            return tensors.of_size(size, is_rest=True)._replace(trail=left.trail)
    if _may_cancel(right):
        return UNKNOWN._replace(trail=left.trail, undecided_dims=left.undecided_dims)
    if not is_sum and left.size is None and left.undecided_dims and right.decide() is Variability.UNKNOWN:
        # A second division of unknown parts: `numel // M // N` may leave one axis, or none.
        return UNKNOWN._replace(trail=left.trail, undecided_dims=left.undecided_dims)
    return _bounded_quotient(join([left, right])._replace(size=size), left, right)


def _may_cancel(divisor: AbstractNumber) -> bool:
    """Return whether `divisor` may follow the same data as the dividend: pairs // tokens is experts per token.

    The same holds for the rows of a so-called table: `table.view(-1, width).shape[0]` may have been cut out for the
    tokens.
    """
    return divisor.high is None and (divisor.suggests_data or _counts_rows(divisor.size))


def _counts_rows(size: DimProduct | None) -> bool:
    """Return whether `size` is the product of an unknown number of axes, starting with the first, but not of all."""
    match size:
        case DimProduct((RemainingDims(_, 0, back),), ()):
            return back > 0
        case _:
            return False


def _line(number: AbstractNumber) -> tuple[str | None, int | None]:
    """Return the file and line of the value's source, if known."""
    return (number.trail[0].path, number.trail[0].line) if number.trail else (None, None)


def _bounded_quotient(result: AbstractNumber, left: AbstractNumber, right: AbstractNumber) -> AbstractNumber:
    """Return `left / right` with the bounds of `left` divided and rounded outwards, if `right` is a literal."""
    divisor = right.literal
    if left.high is None or (isinstance(divisor, int | float) and divisor <= 0):
        return result
    if not isinstance(divisor, int):
        # Dividing a non-negative integer never makes it greater.
        return result._replace(low=0, high=left.high) if divisor is ... and not left.power else result
    low, high = (left.low or 0) // divisor, -(-left.high // divisor)
    return result._replace(low=low, high=high, is_capped=left.is_capped)


def _is_axis(size: DimProduct) -> bool:
    """Return whether `size` is exactly one axis of a tensor."""
    return len(size.over) == 1 and not size.under and isinstance(size.over[0], Dim)


def _held(part: DimProduct, whole: DimProduct) -> bool:
    """Return whether `part` consists of axes of tensors that `whole` counts: they cancel once their neighbours have."""
    counted = {atom.root for atom in whole.over if isinstance(atom, RemainingDims)}
    return bool(part.over) and all(atom.root in counted for atom in part.over)


def coarse(result: AbstractNumber, divisor: int | None) -> AbstractNumber:
    """Return a quotient that has few values because the divisor is large."""
    if divisor is not None and divisor >= _COARSE and result.decide() is Variability.PER_CALL:
        return result._replace(low=1, high=max(_LARGEST_SIZE // divisor, 1))
    return result


def power_of_two(number: AbstractNumber) -> AbstractNumber:
    """Return `next_power_of_2(number)`: at most LOGARITHMIC, if the number changes per call."""
    low = None if number.low is None else _next_power(number.low)
    high = None if number.high is None else _next_power(number.high)
    kind = Variability.LOGARITHMIC if number.kind is Variability.PER_CALL else number.kind
    return number._replace(kind=kind, power=True, low=low, high=high, size=None, literal=..., literals=())


def logarithm(number: AbstractNumber) -> AbstractNumber:
    """Return `log2(number)`: it has as many values as the next power of two."""
    power = number._replace(low=None, high=None, power=True)
    return join([power, FIXED])


def least(operands: Sequence[AbstractNumber]) -> AbstractNumber:
    """Return `min(...)`, bounded by the smallest known upper bound."""
    if not operands:
        return UNKNOWN
    highs = [operand.high for operand in operands if operand.high is not None]
    lows = [operand.low for operand in operands]
    result = join(operands)
    is_read = any(operand.kind is Variability.PER_CALL for operand in operands)
    if not highs and not all(
        operand.suggests_data or (is_read and operand.decide() is Variability.PER_MODEL) for operand in operands
    ):
        # A cap by the machine, the model or an unknown limit: the result settles there after a few values. Not so where
        # a length is read from the data and the cap is a setting: a model sets it well above common lengths.
        result = UNKNOWN._replace(trail=result.trail, is_integer=result.is_integer)
    known = [low for low in lows if low is not None]
    if highs and min(highs) <= _LOW_CAP and result.decide() >= Variability.LOGARITHMIC:
        # Nearly all data reach so low a cap and share its variant.
        result = result._replace(kind=Variability.FEW)
    return result._replace(
        is_capped=bool(highs),
        high=min(highs) if highs else None,
        low=min(known) if len(known) == len(lows) else None,
        power=_powers(operands),
        literal=...,
    )


def greatest(operands: Sequence[AbstractNumber]) -> AbstractNumber:
    """Return `max(...)`, bounded by the largest known lower bound."""
    if not operands:
        return UNKNOWN
    highs = [operand.high for operand in operands]
    lows = [operand.low for operand in operands if operand.low is not None]
    result = join(operands)
    known = [high for high in highs if high is not None]
    return result._replace(
        is_capped=any(operand.is_capped for operand in operands),
        low=max(lows) if lows else None,
        high=max(known) if len(known) == len(highs) else None,
        power=_powers(operands),
        literal=...,
    )


def _powers(operands: Sequence[AbstractNumber]) -> bool:
    return bool(operands) and all(operand.power for operand in operands)


def _next_power(value: int) -> int:
    return 1 << max(value - 1, 0).bit_length()


def _with_trail(result: AbstractNumber, joined: AbstractNumber) -> AbstractNumber:
    return result._replace(trail=joined.trail) if not result.trail else result


def _folded(op: str, left: AbstractNumber, right: AbstractNumber) -> AbstractNumber | None:
    """Return the result of arithmetic on two literals; None if one is not a literal."""
    first, other = left.literal, right.literal
    if left.kind is not Variability.FIXED or right.kind is not Variability.FIXED:
        return None
    if type(first) is not int or type(other) is not int or abs(first) > 1 << 40 or abs(other) > 1 << 40:
        return None
    match op:
        case "*":
            value = first * other
        case "+":
            value = first + other
        case "-":
            value = first - other
        case "//" if other:
            value = first // other
        case "**" if 0 <= other <= 64:
            value = first**other
        case "<<" if 0 <= other <= 64:
            value = first << other
        case _:
            return None
    return FIXED._replace(literal=value, low=value, high=value, power=value > 0 and value & (value - 1) == 0)

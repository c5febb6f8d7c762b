"""Formulas to values: what the parameters of a launch are together, for all values of the choices behind them."""

from __future__ import annotations

import operator
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from triton_doctor.evidence.cover.formulas import Choice, ChoiceKind, choices_in
from triton_doctor.static.python.ir import (
    BinaryOp,
    Call,
    Compare,
    Conditional,
    Const,
    Name,
    Subscript,
    TupleExpr,
    every_part,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from triton_doctor.static.python.ir import Expr

# A range of integers up to this is tried value by value.
MOST_VALUES = 4096
MOST_COMBINATIONS = 200_000
# Sizes beyond this are none of a tensor on one GPU.
LARGEST = 1 << 30


class UnknownValueError(Exception):
    """A formula that cannot be evaluated, for a choice of which no value is known."""


class Something(NamedTuple):
    """The value of `choice` where it is not None and nothing else is known: a tensor, or a number not followed."""

    choice: str


def _shift_left(value: int, by: int) -> int:
    if by > LARGEST.bit_length():  # a number of gigabytes
        raise UnknownValueError
    return value << by


_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "<<": _shift_left,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CALLS: Mapping[str, Callable[..., Any]] = {
    "cdiv": lambda x, y: -(-x // y),
    "next_power_of_2": lambda n: 1 << max(n - 1, 0).bit_length(),
    "min": min,
    "max": max,
    "int": int,
    "abs": abs,
    "bool": bool,
    "bit_length": int.bit_length,
}


def evaluate(formula: Expr, chosen: Mapping[str, object]) -> object:
    """Return the value of `formula` for the values `chosen`. Raises UnknownValueError where it has none."""
    try:
        return _evaluate(formula, chosen)
    except (ArithmeticError, TypeError, ValueError, IndexError) as error:
        raise UnknownValueError from error


def _evaluate(formula: Expr, chosen: Mapping[str, object]) -> Any:
    match formula:
        case Const(value):
            return value
        case Name(name):
            return chosen[name]
        case Compare("is" | "is not" as op, (operand, Const(None))):
            return (_evaluate(operand, chosen) is None) is (op == "is")
        case Compare("not", (operand,)):
            return not _known(operand, chosen)
        case BinaryOp(op, (left, right)) | Compare(op, (left, right)) if op in _BINARY:
            return _BINARY[op](_known(left, chosen), _known(right, chosen))
        case BinaryOp("-", (operand,)):
            return -_known(operand, chosen)
        case Conditional(None, options, joint):
            known: Any = None
            for option in options:
                known = _known(option, chosen)
                if bool(known) is (joint == "or"):
                    break
            return known
        case Conditional(test, (then, other), _) if test is not None:
            return _evaluate(then if _known(test, chosen) else other, chosen)
        case Subscript(TupleExpr(items), which):
            return _evaluate(items[_known(which, chosen)], chosen)
        case Call(Name(function), args):
            return _CALLS[function](*(_known(argument, chosen) for argument in args))
        case _:
            raise UnknownValueError


def _known(formula: Expr, chosen: Mapping[str, object]) -> Any:
    value = _evaluate(formula, chosen)
    if isinstance(value, Something):
        raise UnknownValueError
    return value


def list_forms(formula: Expr) -> tuple[object, ...] | None:
    """Return the literals or truth values that `formula` is one of, whatever its choices; None if it is computed."""
    match formula:
        case Const(value):
            return (value,)
        case Compare():
            return (True, False)
        case Conditional(_, options) | Subscript(TupleExpr(options)):
            forms = [list_forms(option) for option in options]
            return None if None in forms else tuple(dict.fromkeys(value for form in forms for value in form or ()))
        case _:
            return None


def list_literals(formula: Expr) -> tuple[object, ...]:
    """Return the literals among what `formula` may be, by its choices."""
    match formula:
        case Const(value):
            return (value,)
        case Conditional(_, options) | Subscript(TupleExpr(options)):
            return tuple(value for option in options for value in list_literals(option))
        case _:
            return ()


def combine(
    formulas: Mapping[str, Expr], choices: Mapping[str, Choice], outcome: Callable[[str, object], object]
) -> list[dict[str, object]] | None:
    """Return each combination of outcomes of `formulas`, which share choices; None if there are too many to try.

    `outcome` turns the value of a formula into what matters of it.
    """
    names = sorted(frozenset[str]().union(*map(choices_in, formulas.values())))
    constants = _constants(formulas.values())
    for most in (MOST_VALUES, 0):
        samples = [sample(name, choices[name], constants, most) for name in names]
        if prod(map(len, samples)) <= MOST_COMBINATIONS:
            break
    else:
        return None
    found: dict[tuple[object, ...], dict[str, object]] = {}
    for values in product(*samples):
        chosen = dict(zip(names, values, strict=True))
        outcomes = {name: outcome(name, evaluate(formula, chosen)) for name, formula in formulas.items()}
        found.setdefault(tuple(map(repr, outcomes.values())), outcomes)
    return list(found.values())


def is_exhausted(choices: Iterable[Choice]) -> bool:
    """Return whether `combine` tries each value of `choices`, which one formula shares with no more than a few."""
    numbers = [choice.number for choice in choices if choice.kind is ChoiceKind.INTEGER]
    return all(number.high is not None and number.high - (number.low or 1) < MOST_VALUES for number in numbers)


def is_bucket(formula: Expr) -> bool:
    """Return whether `formula` is a power of two that grows with its choices: all of its values are tried."""
    match formula:
        case Const(int(value)):
            return value > 0 and value.bit_count() == 1
        case Call(Name("next_power_of_2"), (_,)) | BinaryOp("<<", (Const(1), Call(Name("bit_length")))):
            return True
        case Call(Name("min" | "max"), options):
            return all(map(is_bucket, options))
        case _:
            return False


def sample(name: str, choice: Choice, constants: Iterable[int], most: int = MOST_VALUES) -> Sequence[object]:
    """Return the values of the choice `name`: all, or of more than `most` integers those of each class and bucket.

    `constants` are what it may be compared with.
    """
    none = [None] if choice.may_be_none else []
    match choice.kind:
        case ChoiceKind.FINITE:
            return [*choice.values, *none]
        case ChoiceKind.INTEGER:
            return [*_integers(choice, constants, most), *none]
        case _:
            return [*(choice.values or [Something(name)]), *none]


def _integers(choice: Choice, constants: Iterable[int], most: int) -> Iterator[int]:
    number = choice.number
    high = LARGEST if number.high is None else number.high
    # A size of 0 launches nothing.
    low = 1 if number.low is None else max(number.low, min(high, 1))
    powers = [1 << at for at in range(LARGEST.bit_length())]
    if number.power:
        yield from (power for power in powers if low <= power <= high)
    elif high - low < most:
        yield from range(low, high + 1)
    else:
        near = {1, low, high, *range(low, low + 64)}
        for middle in (*powers, *constants):
            near |= {middle - 1, middle, middle + 1, middle // 16 * 16, (middle // 16 + 1) * 16}
        yield from sorted(value for value in near if low <= value <= high)


def _constants(formulas: Iterable[Expr]) -> frozenset[int]:
    parts = every_part(*formulas)
    return frozenset(part.value for part in parts if isinstance(part, Const) and type(part.value) is int)

"""Answers to questions that need data a dry run does not have: checks pass, errors are 0, masks select everything.

Each fake tensor remembers what made it (`_dry_made`, newest first) and, for a bool one, what it probably is everywhere
(`_dry_uniform`): a test for nan is False, a comparison of an error with a bound holds. For an integer one
`_dry_uniform` is whether it is probably not zero. A number that was sampled (`_dry_sampled`), such as the next token,
is probably not the one that it is compared with: a loop that ends at a token goes on to its own limit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from triton_doctor.runtime.dry.known_values import real_tensors, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

aten = torch.ops.aten
# Operators remembered of what made a tensor.
MOST_MADE = 8
# A number that one of these made is probably a difference between results; without one, it may be a similarity.
OF_ERRORS = frozenset({"sub", "rsub", "abs", "isclose", "ne", "dist", "mse_loss", "l1_loss"})
UNCHANGING = frozenset({"_to_copy", "view", "detach", "alias", "select"})
TRUE_FROM = frozenset(
    {"all", "lt", "le", "eq", "isclose", "isfinite", "logical_and", "bitwise_and", "logical_not", "bitwise_not"}
)
COUNTING = frozenset({"sum", "count_nonzero", "any", "all"})
# Their integer results are not zero where none of their operands is.
KEEPING_NOT_ZERO = UNCHANGING | {
    *("bitwise_and", "bitwise_and_", "__and__", "__iand__", "mul", "mul_", "prod"),
    *("max", "min", "amax", "amin", "unsqueeze", "squeeze", "clone", "expand"),
}
# What gives the places of the largest, or places drawn at random.
SAMPLING = frozenset({"argmax", "multinomial", "topk", "sort", "max"})
COMPARING = frozenset({"lt", "le", "eq", "gt", "ge", "ne"})
BY_A_KERNEL = ("a kernel",)
UNKNOWN_INTEGER = 2

# torch takes `item` apart into the other, but not beneath an operator of a library.
NUMBERS = frozenset({"_local_scalar_dense", "item"})
SCALARS = NUMBERS | {"equal", "is_nonzero", "allclose"}
DATA_DEPENDENT = frozenset(
    {
        aten.nonzero.default,
        aten.masked_select.default,
        aten._unique2.default,
        aten.unique_dim.default,
        aten.unique_consecutive.default,
        aten.repeat_interleave.Tensor,
        aten.bincount.default,
    }
)


def describe_question(operator: str, tensor: Any) -> str:
    """Describe the data that was read: `nonzero of a bool tensor of shape (3, 4), made by lt`."""
    if tensor is None:
        return operator
    made = getattr(tensor, "_dry_made", ())
    by = f", made by {made[0]}" if made else ""
    name = ".item()" if operator in NUMBERS else operator
    return f"{name} of a {str(tensor.dtype).removeprefix('torch.')} tensor of shape {tuple(tensor.shape)}{by}"


def remember_origin(operator: str, args: Sequence[Any], inputs: Sequence[Any], result: Any) -> None:
    """Store on `result` which operator made it, and the value guessed for all its elements."""
    made_by = [name for tensor in inputs[:2] for name in getattr(tensor, "_dry_made", ())]
    result._dry_made = (operator, *made_by)[:MOST_MADE]
    if result.dtype.is_floating_point or result.dtype.is_complex:
        return
    is_bool = result.dtype == torch.bool
    if not is_bool:
        result._dry_sampled = _is_sampled(operator, inputs)
    if is_bool or operator in COUNTING or operator in KEEPING_NOT_ZERO:
        result._dry_uniform = guess_uniform(operator, args, inputs, made_by)
    else:
        result._dry_uniform = None


def _is_sampled(operator: str, inputs: Sequence[Any]) -> bool:
    """Return whether an operator result depends on sampling, directly or through its integer inputs."""
    return any(
        operator in SAMPLING if tensor.dtype.is_floating_point else getattr(tensor, "_dry_sampled", False)
        for tensor in inputs
    )


def guess_uniform(operator: str, args: Sequence[Any], inputs: Sequence[Any], made_by: Sequence[str]) -> bool | None:
    """Guess the value that all elements of a boolean result have, assuming no errors; None if there is no guess."""
    match operator:
        case "isnan" | "isinf" | "isposinf" | "isneginf":
            return False
        case "isfinite" | "isclose":
            return True
        case "isin":
            return False if any(getattr(tensor, "_dry_sampled", False) for tensor in inputs) else None
    if operator in COMPARING:
        return _guess_comparison(operator, args, inputs, made_by)
    above = [_uniform_of(tensor) for tensor in inputs]
    is_or = operator in ("logical_or", "bitwise_or", "__or__", "logical_or_", "bitwise_or_", "__ior__")
    if is_or and True in above:
        return True
    if None in above or not above:
        return None
    match operator:
        case "logical_not" | "bitwise_not":
            return not above[0]
        case "logical_xor" | "bitwise_xor":
            return above[0] != above[-1]
    return any(above) if is_or else all(above)


def _guess_comparison(operator: str, args: Sequence[Any], inputs: Sequence[Any], made_by: Sequence[str]) -> bool | None:
    if {"abs", "sub"} & set(made_by):
        return operator in ("lt", "le", "eq")
    if operator not in ("eq", "ne"):
        return None
    number = args[1] if len(args) > 1 and isinstance(args[1], int) else None
    is_given = number is not None or any(value_of(tensor) is not None for tensor in inputs)
    if is_given and any(getattr(tensor, "_dry_sampled", False) for tensor in inputs):
        return operator == "ne"
    # A flag, or the number of those that are set: not zero, or zero, everywhere.
    is_set = _uniform_of(inputs[0])
    if number is None or is_set is None or (is_set and number):
        return None
    is_equal = not is_set and number == 0
    return is_equal == (operator == "eq")


def _uniform_of(tensor: Any) -> bool | None:
    """Return whether all elements of `tensor` are known or guessed to be nonzero (True) or zero (False), else None."""
    value = None if tensor.dtype.is_floating_point or tensor.dtype.is_complex else value_of(tensor)
    if value is None:
        uniform: bool | None = getattr(tensor, "_dry_uniform", None)
        return uniform
    with real_tensors():
        if bool(value.all()):
            return True
        return None if bool(value.any()) else False


def guess_number(tensor: Any, other: int = 0) -> bool | int | float | complex:
    """Guess the result of `tensor.item()`: a check that passes, an error of 0, a scale of 1 or a size of 2.

    `other` counts earlier identical questions in a loop; each value gives a different answer, so that the loop
    ends.
    """
    usual = _guess_usual(tensor)
    if not other:
        return usual
    if tensor.dtype == torch.bool:
        return usual if other % 2 == 0 else not usual
    # Each for two turns: another question of the loop, of a bool, has both its answers then.
    turn = (other - 1) // 2
    extremes = (0, 1 << 30, -1, 1, -1 << 30, *((math.inf, -math.inf) if tensor.dtype.is_floating_point else ()))
    return type(usual)(extremes[turn] if turn < len(extremes) else turn - len(extremes))


def _guess_usual(tensor: Any) -> bool | int | float | complex:
    made = getattr(tensor, "_dry_made", ())
    uniform = getattr(tensor, "_dry_uniform", None)
    if uniform is not None:
        if tensor.dtype == torch.bool:
            return bool(uniform)
        return UNKNOWN_INTEGER if uniform else 0
    if tensor.dtype == torch.bool:
        return next((name for name in made if name not in UNCHANGING), "") in TRUE_FROM
    if tensor.dtype.is_floating_point:
        return 1.0 if OF_ERRORS.isdisjoint(made) else 0.0
    return complex(1) if tensor.dtype.is_complex else UNKNOWN_INTEGER


def guess_result(operator: str, args: Sequence[Any], tensor: Any, empty: Callable[..., Any], other: int = 0) -> Any:
    """Guess the result of `operator`, whose shape or value depends on data; None if there is no guess.

    `empty(*shape, dtype=...)` makes a fake tensor on the device of `tensor`. For `other` see `guess_number`.
    """
    if operator in NUMBERS:
        return guess_number(tensor, other)
    if operator in SCALARS:
        return other % 2 == 0
    if tensor is None:
        return None
    count = _guess_count(tensor, other)
    match operator:
        case "nonzero":
            return empty(count, tensor.dim())
        case "masked_select":
            return empty(count, dtype=tensor.dtype)
        case "_unique2" | "unique_dim" | "unique_consecutive" | "_unique":
            return empty(count, dtype=tensor.dtype), empty(*tensor.shape), empty(count)
        case "repeat_interleave":
            return empty(count)
        case "bincount":
            minlength = args[2] if len(args) > 2 else 0
            return empty(minlength or max(count, 1))
        case "index":
            return _guess_index(args, tensor, empty, other)
    return None


def _guess_count(mask: Any, other: int) -> int:
    """Guess how many elements `mask` selects: all or none. An odd `other` gives the opposite."""
    return 0 if (getattr(mask, "_dry_uniform", None) is False) != (other % 2 == 1) else int(mask.numel())


def _guess_index(args: Sequence[Any], tensor: Any, empty: Callable[..., Any], other: int) -> Any:
    """Guess the result of indexing by one boolean mask that selects every element; None for other indices."""
    indices = [index for index in args[1] if index is not None]
    if len(indices) != 1 or indices[0].dtype not in (torch.bool, torch.uint8):
        return None
    mask = indices[0]
    return empty(_guess_count(mask, other), *tensor.shape[mask.dim() :], dtype=tensor.dtype)

"""Positional arguments to parameters, for launches and calls, also after starred arguments.

In `kernel[grid](q, *q.stride(), n, BLOCK=64)`, Triton fills a prefix of the parameters by position. If the parameters
given by keyword, config or heuristic show where that prefix ends, `n` is its last parameter, and the strides fill those
between.
"""

from __future__ import annotations

from itertools import accumulate, takewhile
from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Attr, Star, Unpacked, final_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from triton_doctor.static.python.function import Argument, Function, Launch
    from triton_doctor.static.python.ir import Call, Expr
    from triton_doctor.static.python.module import Kernel


def match_positions(
    launch: Launch,
    kernel: Kernel,
    count_of: Callable[[Expr], int | None],
    names_of: Callable[[Expr], frozenset[str] | None] = lambda _: None,
) -> Iterator[tuple[str, Argument, Expr]]:
    """Yield the parameter of `kernel`, the argument and its expression, for each positional argument that is certain.

    `count_of` gives the number of items of a starred expression, `names_of` the names set by `**table`; each returns
    None if unknown.
    """
    arguments = [argument for argument in launch.arguments if argument.name is None]
    if not any(isinstance(argument.value, Star) for argument in arguments):
        for param, argument in zip(kernel.params, arguments, strict=False):
            yield param.name, argument, argument.value
        return
    counts = [_count(argument, count_of) for argument in arguments]
    total = _positional_count(launch, kernel, names_of)
    names = [param.name for param in kernel.params]
    if total is not None and None in counts:
        counts = _filled_up(counts, names[:total])
    front = next((index for index, count in enumerate(counts) if count is None), len(counts))
    yield from _placed(arguments[:front], counts[:front], names)
    if front < len(counts) and total is not None:
        back = len(counts) - next(index for index, count in enumerate(reversed(counts)) if count is None)
        hidden = sum(count or 0 for count in counts[back:])
        yield from _placed(arguments[back:], counts[back:], names[total - hidden : total])


def cannot_bind(launch: Launch, kernel: Kernel) -> bool:
    """Return whether the launch gives a parameter twice, or too many arguments: it raises and compiles nothing."""
    positional = [argument for argument in launch.arguments if argument.name is None]
    if any(isinstance(argument.value, Star) for argument in positional):
        return False
    named = {argument.name for argument in launch.arguments}
    return len(positional) > len(kernel.params) or any(
        param.name in named for param in kernel.params[: len(positional)]
    )


def _count(argument: Argument, count_of: Callable[[Expr], int | None]) -> int | None:
    return count_of(argument.value.value) if isinstance(argument.value, Star) else 1


def _filled_up(counts: list[int | None], names: Sequence[str]) -> list[int | None]:
    """Return `counts` of arguments that give all of `names`, with unknown counts filled in where only one fits.

    Several unknown counts are assumed equal if the names suggest it: `*k.stride(), *v.stride()` for `k0, k1, v0, v1`.
    """
    unknown = counts.count(None)
    rest = len(names) - sum(count or 0 for count in counts)
    if rest < 0 or rest % unknown:
        return counts
    filled = [rest // unknown if count is None else count for count in counts]
    if unknown > 1:
        starts = accumulate(filled, initial=0)
        starred = [
            names[at : at + own] for at, own, count in zip(starts, filled, counts, strict=False) if count is None
        ]
        shared = _shared_beginning([name for group in starred for name in group])
        if not all(_shared_beginning(group) > shared for group in starred):
            return counts
    return list(filled)


def _shared_beginning(names: Sequence[str]) -> int:
    """Return the length of the common prefix of `names`."""
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False)))


def _placed(
    arguments: Sequence[Argument], counts: Sequence[int | None], names: Sequence[str]
) -> Iterator[tuple[str, Argument, Expr]]:
    position = 0
    for argument, count in zip(arguments, counts, strict=True):
        for index in range(count or 0):
            if position < len(names):
                value = argument.value
                expr = Unpacked(value.value, index, count or 0, False) if isinstance(value, Star) else value
                yield names[position], argument, expr
            position += 1


def _positional_count(launch: Launch, kernel: Kernel, names_of: Callable[[Expr], frozenset[str] | None]) -> int | None:
    """Return how many parameters the launch gives by position; None if that is ambiguous."""
    named = {argument.name for argument in launch.arguments if argument.name != "**"}
    tables = [names_of(argument.value) for argument in launch.arguments if argument.name == "**"]
    computed = {heuristic.param for heuristic in kernel.heuristics}
    if None in tables or "*" in computed:
        return None
    named |= {name for names in tables for name in names or ()}
    tuned = kernel.autotune.sets if kernel.autotune is not None else frozenset[str]()
    elsewhere = {*named, *computed, *(tuned or ())}
    # A parameter that is given elsewhere is not in the prefix, nor is anything after it.
    total = next((at for at, param in enumerate(kernel.params) if param.name in elsewhere), len(kernel.params))
    last = kernel.params[total - 1] if total else None
    is_open = last is not None and (last.default is not None or (tuned is None and last.is_constexpr))
    return None if is_open else total


def bind(function: Function, call: Call) -> dict[str, Expr]:
    """Return the argument of `call` for each parameter of `function`; arguments hidden by stars are left out."""
    positional = [param for param in function.params if not param.keyword_only and not param.variadic]
    bound: dict[str, Expr] = {}
    for param, arg in zip(positional[_implicit(function, call) :], call.args, strict=False):
        if isinstance(arg, Star):
            break
        bound[param.name] = arg
    names = {param.name for param in function.params}
    for name, value in call.keywords:
        if name is not None and name in names:
            bound[name] = value
    return bound


def needs_no_object(method: Function) -> bool:
    """Return whether `method` is a static or class method: `Scale.method(x)` passes all of its arguments."""
    return any(final_name(decorator) in ("staticmethod", "classmethod") for decorator in method.decorators)


def _implicit(function: Function, call: Call) -> int:
    """Return how many leading parameters `call` does not spell out: `self`, `cls`, or an autograd function's `ctx`."""
    if function.class_name is None:
        return 0
    static = any(final_name(decorator) == "staticmethod" for decorator in function.decorators)
    if not static:
        return 1
    by_name = isinstance(call.func, Attr) and call.func.name == function.name  # as `Scale.forward(ctx, x)`
    return 1 if function.name in ("forward", "backward") and not by_name else 0

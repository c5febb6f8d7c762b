"""The hints on a value to words: how much they weigh on each side, and what each reason."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from triton_doctor.static.variability.hints.axis_context import Toward
from triton_doctor.static.variability.hints.hints import weight_needed

WAYS_TO_DECIDE = "give `check --recording` a recording of `run` or `run --dry`, or set the name `per-call` or `fixed`"

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.finding import HintNote


def describe_hints(hints: Sequence[HintNote]) -> Iterator[str]:
    """Yield a line with the sum of the weights, and one for each hint; `hints` are sorted.

    Without hints, one line says that the value was followed to its origin.
    """
    if not hints:
        yield "the value was followed to where it comes from; no hint decided"
        return
    yield summarize_hints(hints)
    for (toward, name), seen in groupby(hints, key=lambda hint: (hint.toward, hint.name)):
        every = list(seen)
        places = ", ".join(f"{hint.location.path}:{hint.location.line}" for hint in every if hint.location is not None)
        yield f"{toward} {every[0].weight}, {name}: {every[0].reason}" + (f" ({places})" if places else "")


def summarize_hints(hints: Iterable[HintNote]) -> str:
    """Format the sums of weights: `2 for the data, 4 needed; 1 for the model`."""
    weights = {(hint.toward, hint.name): hint.weight for hint in hints}
    data = sum(weight for (toward, _), weight in weights.items() if toward == Toward.DATA.value)
    model = sum(weights.values()) - data
    return f"{data} for the data, {weight_needed(model)} needed" + (f"; {model} for the model" if model else "")


def describe_question(parameter: str, hints: Iterable[HintNote]) -> str:
    """Format what is open about an undecided constexpr:

    `` `n` may change with the data: it is the length of a list``.
    """
    reasons = dict.fromkeys(hint.reason for hint in hints if hint.toward == Toward.DATA.value)
    if not reasons:
        return f"nothing in sight shows whether {parameter} changes with the data"
    return f"{parameter} may change with the data: {'; '.join(reasons)}"

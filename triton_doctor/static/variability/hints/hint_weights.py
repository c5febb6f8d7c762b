"""Weighs applied hints: does a size follow the data, the model, or stay undecided?

A hint is a row of the table in `hints`. Hints toward the data must outweigh those toward the model, since a wrong
finding costs more than a missing one: a single data hint of weight 1 decides nothing, a single model hint does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.variability.hints.axis_context import Toward

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from triton_doctor.static.variability.hints.axis_context import AxisContext

# The weight that data hints need at least, and again for each unit of weight of model hints.
EVIDENCE = 2
# Bound once for speed: before Python 3.12, access to an enum member is ten times as slow.
_DATA = Toward.DATA


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hint:
    """A row of the table. `says` completes "data, because ..."; `example` is code in which the hint applies to `n`.

    `in_words` if it relies on text that the author wrote for readers, which nothing checks.
    """

    name: str
    toward: Toward
    weight: int = 1
    says: str
    example: str
    in_words: bool = False
    applies: Callable[[AxisContext], bool]


class AppliedHint(NamedTuple):
    """A hint with the line where it was seen, if there is one."""

    hint: Hint
    path: str | None
    line: int | None


def common_hints(opinions: Iterable[frozenset[AppliedHint]]) -> frozenset[AppliedHint]:
    """Return the hints of a size that is one of several: data hints that all share, and all model hints."""
    every = list(opinions)
    rows = [{applied_hint.hint for applied_hint in applied} for applied in every]
    return frozenset(
        applied_hint
        for applied in every
        for applied_hint in applied
        if applied_hint.hint.toward is Toward.MODEL or all(applied_hint.hint in shared for shared in rows)
    )


class Weights(NamedTuple):
    """The total weights of hints toward the data and toward the model."""

    data: int
    model: int


@lru_cache(maxsize=8192)
def weights(applied: frozenset[AppliedHint]) -> Weights:
    """Return the weights of `applied`; a hint seen on several lines counts once."""
    data = model = 0
    for hint in {applied_hint.hint for applied_hint in applied}:
        if hint.toward is _DATA:
            data += hint.weight
        else:
            model += hint.weight
    return Weights(data, model)


def weight_needed(model: int) -> int:
    """Return the weight that data hints need against model hints of the weight `model`."""
    return EVIDENCE * (1 + model)


@lru_cache(maxsize=8192)
def weigh(applied: frozenset[AppliedHint]) -> Toward | None:
    """Return what `applied` decide; None if undecided."""
    found = weights(applied)
    if found.data >= weight_needed(found.model):
        return Toward.DATA
    return Toward.MODEL if found.model > found.data else None


def pool_hints(opinions: Sequence[frozenset[AppliedHint]]) -> frozenset[AppliedHint]:
    """Return the hints of a size that is computed from several sizes with the hints `opinions`.

    These are the hints of the sizes that follow the data on their own, if there are any. Otherwise, of the undecided
    sizes, all data hints, and the model hints that they share.
    """
    if len(opinions) <= 1:
        return opinions[0] if opinions else frozenset()
    sides = [weigh(applied) for applied in opinions]
    decided = Toward.DATA if Toward.DATA in sides else None
    chosen = [applied for applied, side in zip(opinions, sides, strict=True) if side is decided] or opinions
    shared = [{applied_hint.hint for applied_hint in applied} for applied in chosen]
    return frozenset(
        applied_hint
        for applied in chosen
        for applied_hint in applied
        if decided or applied_hint.hint.toward is Toward.DATA or all(applied_hint.hint in hints for hints in shared)
    )

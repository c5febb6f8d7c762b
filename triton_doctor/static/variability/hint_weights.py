"""Applied hints to what they decide together: the size follows the data, the model, or it stays open.

A hint is a row of the table in `hints`.

What speaks for the data must weigh more than what speaks for the model, since a wrong finding costs more than a missing
one: a hint toward the data of weight 1 decides nothing alone, one toward the model does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.variability.axis_context import Toward

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from triton_doctor.static.variability.axis_context import AxisContext

# What the data's side must weigh, and again for each unit of weight on the model's side.
EVIDENCE = 2
# For what is asked thousands of times: before Python 3.12, to take a member from its class is ten times as slow.
_DATA = Toward.DATA


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hint:
    """A row of the table. `says` completes "data, because ..."; `example` is code in which the hint applies to `n`.

    `in_words` where it rests on what the author wrote for readers, which nothing checks.
    """

    name: str
    toward: Toward
    weight: int = 1
    says: str
    example: str
    in_words: bool = False
    applies: Callable[[AxisContext], bool]


class AppliedHint(NamedTuple):
    """A hint with the line that it was seen at, where there is one."""

    hint: Hint
    path: str | None
    line: int | None


def agreed(opinions: Iterable[frozenset[AppliedHint]]) -> frozenset[AppliedHint]:
    """The hints of a size that is any of several: toward the data those that all have, toward the model all."""
    every = list(opinions)
    rows = [{one.hint for one in applied} for applied in every]
    return frozenset(
        one
        for applied in every
        for one in applied
        if one.hint.toward is Toward.MODEL or all(one.hint in shared for shared in rows)
    )


class Weights(NamedTuple):
    """What hints weigh toward the data, and toward the model."""

    data: int
    model: int


@lru_cache(maxsize=8192)
def weights(applied: frozenset[AppliedHint]) -> Weights:
    """What `applied` weigh; a hint that was seen at several lines counts once."""
    data = model = 0
    for hint in {one.hint for one in applied}:
        if hint.toward is _DATA:
            data += hint.weight
        else:
            model += hint.weight
    return Weights(data, model)


def weight_needed(model: int) -> int:
    """What the hints toward the data must weigh where those toward the model weigh `model`."""
    return EVIDENCE * (1 + model)


@lru_cache(maxsize=8192)
def weigh(applied: frozenset[AppliedHint]) -> Toward | None:
    """What `applied` decide; None where they leave it open."""
    found = weights(applied)
    if found.data >= weight_needed(found.model):
        return Toward.DATA
    return Toward.MODEL if found.model > found.data else None


def pool(opinions: Sequence[frozenset[AppliedHint]]) -> frozenset[AppliedHint]:
    """The hints that speak for a size that is computed from several sizes with the hints `opinions`.

    Those of the sizes that follow the data by themselves, if there are any. Else, of the undecided ones, the hints
    toward the data of all, and the hints toward the model that they have in common.
    """
    if len(opinions) <= 1:
        return opinions[0] if opinions else frozenset()
    sides = [weigh(applied) for applied in opinions]
    decided = Toward.DATA if Toward.DATA in sides else None
    chosen = [applied for applied, side in zip(opinions, sides, strict=True) if side is decided] or opinions
    shared = [{one.hint for one in applied} for applied in chosen]
    return frozenset(
        one
        for applied in chosen
        for one in applied
        if decided or one.hint.toward is Toward.DATA or all(one.hint in hints for hints in shared)
    )

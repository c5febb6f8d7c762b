"""The sides of an image: what the width is called beside a height, and the height beside a width."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from triton_doctor.static.variability.hints.axis_context import Side
from triton_doctor.static.variability.hints.name_words import names_part, words

if TYPE_CHECKING:
    from collections.abc import Mapping

_WIDTHS = {"height": "width", "Height": "Width", "HEIGHT": "WIDTH", "h": "w", "H": "W"}
# Sides of a filter, and how it moves, are the model's.
_FILTER_WORDS = frozenset("k kernel filter weight patch window stride pad padding dilation".split())


@lru_cache(maxsize=4096)
def names_of_width(height: str) -> tuple[str, ...]:
    """Return the names of a width beside the height `height`: `w` for `h`, `out_width` for `out_height`."""
    return _other_sides(height, _WIDTHS)


def names_of_height(width: str) -> tuple[str, ...]:
    """Return the names of a height beside the width `width`: `h` for `w`."""
    return _other_sides(width, {wide: high for high, wide in _WIDTHS.items()})


def _other_sides(side: str, others: Mapping[str, str]) -> tuple[str, ...]:
    if words(side) & _FILTER_WORDS or names_part(side):
        return ()
    found = [side.replace(one, other) for one, other in others.items() if len(one) > 1]
    found += [side[:at] + others[one] + side[at + 1 :] for at, one in enumerate(side) if one in others]
    return tuple(one for one in found if one != side)


@lru_cache(maxsize=4096)
def others_of(name: str) -> tuple[tuple[Side, tuple[str, ...]], ...]:
    """Return the sides that an axis called `name` may be, each with the names of the other one."""
    every = ((Side.HEIGHT, names_of_width(name)), (Side.WIDTH, names_of_height(name)))
    return tuple((side, others) for side, others in every if others)

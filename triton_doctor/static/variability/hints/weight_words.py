"""Words in names that tell weights from inputs: of axes, of functions, of an optimizer's arguments."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from triton_doctor.static.variability.hints.name_words import names_data, words

if TYPE_CHECKING:
    from collections.abc import Iterable

# A function whose name begins with one of these takes only weights; others take an input too: `lora_shrink`,
# `cache_keys`.
_WORKED_ON_WORDS = frozenset("weight weights param params parameter parameters".split())
# Words for the last axis of a weight with four axes.
_WEIGHT_AXIS_WORDS = frozenset("group groups codebook codebooks kernel filter kw".split())
_WEIGHT_AXES = 4


@lru_cache(maxsize=4096)
def are_axes_of_weight(names: tuple[str, ...]) -> bool:
    """Return whether four axis names are those of a weight: the last is a group, a codebook or a filter."""
    return len(names) == _WEIGHT_AXES and bool(words(names[-1]) & _WEIGHT_AXIS_WORDS) and not names_data(names[0])


@lru_cache(maxsize=4096)
def works_on_weights(function: str) -> bool:
    """Return whether a function's name begins with a word for weights: `weight_norm`, not `bias_gelu`."""
    return bool(words(function.strip("_").partition("_")[0]) & _WORKED_ON_WORDS)


def orthogonalizes(name: str) -> bool:
    """Return whether a path or name speaks of the iteration that makes the gradient of a weight orthogonal."""
    return "newton" in name and "schulz" in name


def steps_optimizer(names: Iterable[str]) -> bool:
    """Return whether the arguments are those of an optimizer's step: its state, or a gradient and a learning rate."""
    said = [words(name) for name in names]
    return any({"exp", "avg"} <= one for one in said) or (
        any(one & {"grad", "grads"} for one in said) and any(one in ({"lr"}, {"learning", "rate"}) for one in said)
    )

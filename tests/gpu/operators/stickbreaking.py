"""Stick-breaking attention, as flame carries it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tests.gpu.operators.tensors import HEAD, HEADS, lengths, normal, starts

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "fla-org/flame"
COMMIT = "e11e7be75b9e45e84dbecbe8f0efa27d6af7d101"
FOLDERS = ("custom_models/sba",)


def padded(*, current: bool) -> Callable[[int, int], object]:
    """Sequences of one length; `current` with each token's own."""

    def call(batch: int, length: int) -> object:
        made = (normal(batch, HEADS, length, HEAD) for _ in range(3))
        function = importlib.import_module("stickbreaking_attention").sb_attn
        return function(*made, attend_current=current)

    return call


def packed(*, current: bool) -> Callable[[int, int], object]:
    """Sequences one after the other in one row."""

    def call(batch: int, length: int) -> object:
        each = lengths(batch, length)
        made = (normal(HEADS, sum(each), HEAD) for _ in range(3))
        function = importlib.import_module("stickbreaking_attention").sb_attn_varlen
        return function(*made, starts(each), max(each), attend_current=current)

    return call


OPERATORS = {
    "padded": padded(current=False),
    "padded-current": padded(current=True),
    "packed": packed(current=False),
    "packed-current": packed(current=True),
}

"""flash-colsum's means of the columns of an attention."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HEAD, HEADS, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("flash-colsum", "0.1.0")


def columns(*, one: bool = False, **options: object) -> Callable[[int, int], object]:
    """The means; `one` of a single sequence."""

    def call(batch: int, length: int) -> object:
        made = (plain(1 if one else batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(2))
        return importlib.import_module("flash_colsum").flash_colsum(*made, **options)

    return call


def last(batch: int, length: int) -> object:
    """The means over the last queries alone."""
    made = plain(1, HEADS, 8, HEAD, dtype=torch.float16), plain(1, HEADS, length + 8, HEAD, dtype=torch.float16)
    return importlib.import_module("flash_colsum").flash_colsum(*made, is_causal=True)


OPERATORS = {
    "batch": columns(),
    "batch-first": columns(cls_len=1),
    "one": columns(one=True),
    "last": last,
}

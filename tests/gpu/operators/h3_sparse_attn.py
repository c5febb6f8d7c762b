"""h3-sparse-attn's attention over blocks."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HEADS, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("h3-sparse-attn", "0.1.0")
WIDE, CHOSEN = 128, 1


def attention(*, taylor: bool) -> Callable[[int, int], object]:
    """Attention to some blocks, and to the means of the others."""

    def call(batch: int, length: int) -> object:
        made = (plain(batch, length, HEADS, WIDE) for _ in range(3))
        return importlib.import_module("h3_sparse_attn.triton_attn").sparse_attention(*made, CHOSEN, taylor=taylor)

    return call


OPERATORS = {"chosen": attention(taylor=False), "with-means": attention(taylor=True)}

"""ebt-flash-attention's attention of two streams, observed and predicted."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import CHUNKS, HEAD, HEADS, normal

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("ebt-flash-attention", "0.2.0")
SHAPES = CHUNKS


def attention(*, causal: bool, descriptors: bool = False) -> Callable[[int, int], object]:
    """Attention; with tensor descriptors or with pointers."""

    def call(batch: int, length: int) -> object:
        made = [normal(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(6)]
        module = importlib.import_module("ebt_flash_attention.ebt_attention")
        return module.ebt_attention(*made, causal=causal, warp_specialize=False, USE_TMA=descriptors)

    return call


OPERATORS = {
    "full": attention(causal=False),
    "causal": attention(causal=True),
    "causal-descriptors": attention(causal=True, descriptors=True),
}

"""flash-attention-x' attention, two versions of it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HEAD, HEADS, normal

if TYPE_CHECKING:
    from collections.abc import Callable

# A source distribution: unpack it into the package's folder by hand.
PACKAGE = Package("flash-attention-x", "0.0.1")
FOLDERS = ("flash_attention_x-0.0.1",)
BARE = ("flash_attention_x",)


def attention(module: str, name: str) -> Callable[[int, int], object]:
    """Queries, keys and values alike."""

    def run(batch: int, length: int) -> object:
        made = [normal(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(3)]
        return getattr(importlib.import_module(f"flash_attention_x.{module}"), name)(*made)

    return run


OPERATORS = {
    "causal": attention("flash_attention_causal", "flash_attn_causal"),
    "full": attention("flash_attention_causal", "flash_attn_full"),
    "first-causal": attention("flash_attention_causal_og", "flash_attn_causal"),
    "first-full": attention("flash_attention_causal_og", "flash_attn_full"),
}

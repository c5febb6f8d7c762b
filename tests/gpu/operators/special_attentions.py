"""special-attentions-pack's pooling of scores by blocks, and its attention to the best blocks."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, plain

PACKAGE = Package("special-attentions-pack", "0.3.0")
BARE = ("special_attentions", "special_attentions.utils")
UNUSED = ("matplotlib", "matplotlib.pyplot", "seaborn", "tqdm")
SHAPES = CHUNKS
BLOCK = 64


def of_tokens(batch: int, length: int) -> list[Any]:
    """Queries, keys and values."""
    return [plain(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(3)]


def pooled(batch: int, length: int) -> object:
    """Attention, and the greatest score of each block."""
    function = importlib.import_module("special_attentions.utils.attn_pooling_kernel")._attention_pooling
    return function.apply(*of_tokens(batch, length), False, 0.125, BLOCK)


def chosen(batch: int, length: int) -> object:
    """Attention to some blocks."""
    count = length // BLOCK
    mask = torch.ones(batch, HEADS, count, count, device=DEVICE, dtype=torch.bool)
    function = importlib.import_module("special_attentions.utils.block_sparse_attn_kernel").sparse_attention_factory
    return function()(*of_tokens(batch, length), mask, 0.125)


OPERATORS = {"pooled": pooled, "chosen": chosen}

"""flash-attn-res' attention over the outputs of earlier layers."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HIDDEN, normal

PACKAGE = Package("flash-attn-res", "0.1.12")
BLOCKS, QUERIES, EPSILON = 4, 3, 1e-6


def over_blocks(batch: int, length: int) -> object:
    """Several queries at once, over the outputs of blocks."""
    values = normal(BLOCKS, batch, length, HIDDEN)
    function = importlib.import_module("flash_attn_res").phase_1_batched_attention_triton_op
    return function(values, normal(QUERIES, HIDDEN), EPSILON)


def merged(batch: int, length: int) -> object:
    """What a query has of its own block, merged with what it has of earlier ones."""
    made = normal(batch, length, HIDDEN), normal(HIDDEN), normal(batch, length, HIDDEN, dtype=torch.float32)
    sums = normal(batch, length, dtype=torch.float32)
    return importlib.import_module("flash_attn_res").phase_2_online_softmax_merge_triton_op(*made, sums, EPSILON)


OPERATORS = {"over-blocks": over_blocks, "merged": merged}

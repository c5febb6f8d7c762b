"""The merge of two halves of attention, of ring attention with a window."""

from __future__ import annotations

import torch

from tests.gpu.operators.tensors import HEADS, plain

REPOSITORY = "XunhaoLai/ring-sliding-window-attention"
COMMIT = "f571258c58822fd98ba2c6f4577a2a0eb9729ead"
BARE = ("ring_swa", "ring_swa.ops")


def merge(batch: int, length: int) -> object:
    """Two attentions of all tokens made one."""
    from ring_swa.ops.merge import triton_merge_attn_out

    made = [plain(batch, length, HEADS, 64) for _ in range(2)]
    sums = [plain(batch, HEADS, length, dtype=torch.float32) for _ in range(2)]
    return triton_merge_attn_out(made[0], sums[0], made[1], sums[1])


OPERATORS = {"merge": merge}

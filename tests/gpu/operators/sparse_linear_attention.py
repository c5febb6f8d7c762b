"""SLA: attention to chosen blocks, and linear attention to the rest."""

from __future__ import annotations

import torch

from tests.gpu.operators.tensors import DEVICE, HEADS, normal

REPOSITORY = "thu-ml/SLA"
COMMIT = "d973e55ea5b5b5fd0bc5141959e8410f0d366336"
HEAD = 64


def attention(batch: int, length: int) -> object:
    """Forward and backward, with a share of the blocks."""
    from sparse_linear_attention import SparseLinearAttention

    layer = SparseLinearAttention(HEAD, topk=0.25).to(DEVICE, torch.bfloat16)
    return layer(*(normal(batch, HEADS, length, HEAD) for _ in range(3)))


OPERATORS = {"attention": attention}

"""Attention of videos to chosen blocks."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, plain

PACKAGE = Package("vsa", "0.0.4")
BARE = ("vsa",)
SHAPES = CHUNKS
BLOCK, CHOSEN = 64, 2


def blocks(batch: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The chosen blocks of each block, and how many."""
    count = length // BLOCK
    chosen = torch.zeros(batch, HEADS, count, CHOSEN, device=DEVICE, dtype=torch.int32)
    return chosen, torch.full((batch, HEADS, count), CHOSEN, device=DEVICE, dtype=torch.int32)


def attention(batch: int, length: int) -> object:
    """Forward and backward."""
    module = importlib.import_module("vsa.block_sparse_attn_triton")
    made = [plain(batch, HEADS, length, HEAD) for _ in range(3)]
    chosen, sizes = blocks(batch, length), torch.full((length // BLOCK,), BLOCK, device=DEVICE, dtype=torch.int32)
    out, sums = module.triton_block_sparse_attn_forward(*made, *chosen, sizes)
    gradient = torch.ones_like(out)
    return module.triton_block_sparse_attn_backward(gradient, *made, out, sums, *chosen, *chosen, sizes)


OPERATORS = {"attention": attention}

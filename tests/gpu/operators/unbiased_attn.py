"""Attention with a mask of keys, causal and not."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, normal

REPOSITORY = "jeffwillette/unbiased-attn"
COMMIT = "61e9f2175ed4f586cbd5d78b798a63467ccc1633"
SHAPES = CHUNKS


def attend(batch: int, length: int, causal: bool) -> object:
    """All tokens, forward and backward."""
    made = (normal(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(3))
    mask = torch.ones(batch, length, device=DEVICE) if causal else None
    return importlib.import_module("flash_attn_triton").attention(*made, mask, causal, HEAD**-0.5)


OPERATORS = {
    "causal": lambda batch, length: attend(batch, length, causal=True),
    "full": lambda batch, length: attend(batch, length, causal=False),
}

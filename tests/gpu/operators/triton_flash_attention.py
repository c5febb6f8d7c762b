"""The flash attention of a course on Triton."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import CHUNKS, HEAD, HEADS, normal

REPOSITORY = "hkproj/triton-flash-attention"
COMMIT = "296ee44c8a238cd2192d13e22e9082251f1c1289"
FOLDERS = ("triton",)
SHAPES = CHUNKS


def attention(batch: int, length: int, *, causal: bool) -> object:
    """Forward and backward."""
    function = importlib.import_module("flash_attention").TritonAttention.apply
    made = (normal(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(3))
    return function(*made, causal, HEAD**-0.5)


def before(batch: int, length: int) -> object:
    """Each token sees those before it."""
    return attention(batch, length, causal=True)


def all_tokens(batch: int, length: int) -> object:
    """Each token sees all."""
    return attention(batch, length, causal=False)


OPERATORS = {"before": before, "all": all_tokens}

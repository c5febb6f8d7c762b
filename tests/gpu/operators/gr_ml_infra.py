"""Operators of a recommender: what users did, attention by levels, and attention with its norm."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, normal, plain

REPOSITORY = "chengchi-19/GR-ML-infra"
COMMIT = "2869ef31e419eb705aae76aa5491a124ce420365"
FOLDERS = ("optimizations/triton_ops",)
LEVELS = 4
# Scores of all pairs of tokens are kept.
SHAPES = ((1, 16), (2, 33), (3, 100), (5, 127), (7, 200), (1, 300), (2, 512), (4, 777))


def named(module: str, name: str) -> Any:
    """Something of the library."""
    return getattr(importlib.import_module(module), name)


def whole(*shape: int) -> torch.Tensor:
    """A tensor of 32 bits."""
    return plain(*shape, dtype=torch.float32)


def levels(batch: int, length: int) -> object:
    """Attention by levels, forward and backward."""
    made = [normal(batch, HEADS, length, HEAD, dtype=torch.float32) for _ in "qkv"]
    mask = torch.ones(batch, HEADS, length, length, device=DEVICE)
    return named("hstu_hierarchical_attention", "hstu_hierarchical_attention")(*made, mask, LEVELS)


def history(batch: int, length: int) -> object:
    """What each user did, and what that says."""
    made = (
        whole(batch, length, HEAD),
        whole(batch, HEAD),
        whole(batch, length),
        torch.ones(batch, length, device=DEVICE),
    )
    return named("sequence_recommendation_interaction", "sequence_recommendation_interaction")(*made)


def attend(batch: int, length: int) -> object:
    """A layer of attention with its norm."""
    made = named("fused_attention_layernorm", "create_fused_attention_layer")(HIDDEN, HEADS).to(DEVICE).eval()
    with torch.no_grad():
        return made(whole(batch, length, HIDDEN))


OPERATORS = {
    "levels": levels,
    "history": history,
    "attend": attend,
}

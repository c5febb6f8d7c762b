"""Power attention: attention with powers of scores, and its discounted sums."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import CHUNKS, HEAD, HEADS, normal

PACKAGE = Package("power-attention", "1.4.4")
BARE = ("power_attention", "power_attention._attention", "power_attention._discumsum")
SHAPES_OF = {"attention": CHUNKS, "attention-ungated": CHUNKS}


def gates(batch: int, length: int) -> torch.Tensor:
    """A gate of each token and head."""
    return normal(batch, length, HEADS, dtype=torch.float32)


def attention(batch: int, length: int, *, gated: bool = True) -> object:
    """Scores to the power of two."""
    made: list[Any] = [normal(batch, length, HEADS, HEAD) for _ in range(3)]
    module = importlib.import_module("power_attention._attention.triton")
    return module._attention_fn(*made, gates(batch, length) if gated else None, 2)


def ungated(batch: int, length: int) -> object:
    """Without gates."""
    return attention(batch, length, gated=False)


def sums(batch: int, length: int) -> object:
    """Sums of all tokens before, each discounted."""
    made = normal(batch, length, HEADS, HEAD, dtype=torch.float32), gates(batch, length)
    return importlib.import_module("power_attention._discumsum.triton").discumsum(*made)


OPERATORS = {"attention": attention, "attention-ungated": ungated, "sums": sums}

"""flash-attention-triton's causal attention."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HEAD, HEADS, normal

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("flash-attention-triton", "0.1.1")


def attention(*, deterministic: bool) -> Callable[[int, int], object]:
    """Attention; `deterministic` with a backward pass that adds in order."""

    def call(batch: int, length: int) -> object:
        made = [normal(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(3)]
        module = importlib.import_module("flash_attention_triton.flash_attention_2")
        return module.flash_attention_v2(*made, deterministic=deterministic)

    return call


OPERATORS = {"atomic": attention(deterministic=False), "deterministic": attention(deterministic=True)}

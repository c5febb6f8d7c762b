"""tiny-turboquant's keys and values from few bits."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, plain

PACKAGE = Package("tiny-turboquant", "0.18.0")
BARE = ("tiny_turboquant",)
GROUP, BLOCK = 16, 64
SHAPES_OF = {"keys": CHUNKS}


def codes(batch: int, length: int) -> torch.Tensor:
    """A code for each number."""
    return torch.randint(0, 4, (batch, HEADS, length, HEAD), device=DEVICE, dtype=torch.uint8)


def keys(batch: int, length: int) -> object:
    """Keys with a scale for each channel of a block of tokens."""
    scales = [plain(batch, HEADS, length // BLOCK, HEAD, dtype=torch.float16) for _ in range(2)]
    return importlib.import_module("tiny_turboquant.triton_dequant").dequant_k(codes(batch, length), *scales, BLOCK)


def values(batch: int, length: int) -> object:
    """Values with a scale for each group of channels."""
    scales = [plain(batch, HEADS, length, HEAD // GROUP, dtype=torch.float16) for _ in range(2)]
    return importlib.import_module("tiny_turboquant.triton_dequant").dequant_v(codes(batch, length), *scales)


OPERATORS = {"keys": keys, "values": values}

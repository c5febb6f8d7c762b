"""FlatQuant's transforms of activations that leave four bits."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import HEAD, plain

REPOSITORY = "ruikangliu/FlatQuant"
COMMIT = "9d88ffcb7d2c6bda59fb5c44dad36adc101aadb1"
BARE = ("deploy", "deploy.nn")
LEFT = 32


def deploy(module: str) -> Any:
    """A module of the library, with a pair for what a compiled half would hold."""
    package = importlib.import_module("deploy")
    package.PackedQuantizedTensor = lambda packed, scales: (packed, scales)  # type: ignore[attr-defined]
    return importlib.import_module(f"deploy.kernels.{module}")


def half(*shape: int) -> torch.Tensor:
    """A tensor of 16 bits."""
    return plain(*shape, dtype=torch.float16)


def kronecker(batch: int, length: int) -> object:
    """Tokens times two small matrices."""
    tokens, sides = half(batch * length, LEFT, HEAD), (half(LEFT, LEFT), half(HEAD, HEAD))
    return deploy("kron_matmul").kron_matmul(sides[0], tokens, sides[1], length, 1.0, 1.0)


def tall(batch: int, length: int) -> object:
    """Tokens of more features times two small matrices."""
    tokens, sides = half(batch * length, 2 * HEAD, HEAD), (half(2 * HEAD, 2 * HEAD), half(HEAD, HEAD))
    return deploy("kron_matmul").kron_matmul(sides[0], tokens, sides[1], length, 1.0, 1.0)


def blocks(batch: int, length: int) -> object:
    """Heads times one small matrix, with and without four bits."""
    made = half(batch * length, LEFT, HEAD), half(HEAD, HEAD), length, 1.0, 1.0
    deploy("block_matmul").block_matmul(*made, just_quantize=True)
    return deploy("block_matmul").block_matmul(*made)


OPERATORS = {"kronecker": kronecker, "tall": tall, "blocks": blocks}

"""bitnet-triton's products of tokens with packed weights of three values, and its layer."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

REPOSITORY = "yukikotani231/bitnet-triton"
COMMIT = "edf273de1cf166369c8c902d11546f94bb0aebf4"
WIDE = 1024


def multiply(module: str, name: str, batch: int, length: int) -> object:
    """Tokens times packed weights."""
    library: Any = importlib.import_module("bitnet_triton")
    packed, scale = library.pack_weights(plain(WIDE, HIDDEN, dtype=torch.float32))
    tokens = plain(batch * length, HIDDEN, dtype=torch.float32)
    return getattr(importlib.import_module(f"bitnet_triton.{module}"), name)(tokens, packed, scale, HIDDEN)


def layer(batch: int, length: int) -> object:
    """The layer."""
    made = importlib.import_module("bitnet_triton").BitLinearTriton(HIDDEN, WIDE).to(DEVICE)
    made.pack_weights()
    return made(plain(batch, length, HIDDEN, dtype=torch.float32))


def unpacked(batch: int, length: int) -> object:
    """With weights that are unpacked."""
    return multiply("kernels", "bitnet_matmul", batch, length)


def table(batch: int, length: int) -> object:
    """With a table."""
    return multiply("kernels_lut", "bitnet_matmul_lut", batch, length)


def sums(batch: int, length: int) -> object:
    """With a table of sums."""
    return multiply("kernels_lut", "bitnet_matmul_true_lut", batch, length)


def ternary(batch: int, length: int) -> object:
    """With additions alone."""
    return multiply("kernels_lut", "bitnet_matmul_ternary", batch, length)


OPERATORS = {"layer": layer, "unpacked": unpacked, "table": table, "sums": sums, "ternary": ternary}

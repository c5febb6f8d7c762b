"""QuantLLM's layers of few bits."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

REPOSITORY = "codewithdark-git/QuantLLM"
COMMIT = "50c9e5d5faaf97a0c8b975dea53ba2c9b4efab42"
BARE = ("quantllm", "quantllm.kernels", "quantllm.kernels.triton")
WIDE = 1024


def library() -> Any:
    """The module of the library's kernels."""
    return importlib.import_module("quantllm.kernels.triton.quantized_linear")


def layer(batch: int, length: int) -> object:
    """A layer of four bits."""
    made = library().TritonQuantizedLinear(HIDDEN, WIDE).to(DEVICE, torch.float16)
    return made(plain(batch, length, HIDDEN, dtype=torch.float16))


def columns(batch: int, length: int) -> object:
    """Tokens times weights with a scale for each column."""
    weights = torch.zeros(HIDDEN, WIDE, device=DEVICE, dtype=torch.int8)
    tokens = plain(batch, length, HIDDEN, dtype=torch.float16)
    return library().int4_matmul(tokens, weights, plain(1, WIDE, dtype=torch.float16), plain(WIDE, dtype=torch.float16))


OPERATORS = {"layer": layer, "columns": columns}

"""turboquantdc's quantization of keys and values, a row for each token."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, plain

PACKAGE = Package("turboquantdc", "0.2.0")
BARE = ("turboquantdc",)
UNUSED = ("scipy", "scipy.special")
LEVELS = 8


def call(name: str, *arguments: torch.Tensor) -> object:
    """Call a function of the library."""
    return getattr(importlib.import_module("turboquantdc.triton_kernels"), name)(*arguments)


def floats(*shape: int) -> torch.Tensor:
    """Single precision."""
    return plain(*shape, dtype=torch.float32)


def codes(rows: int) -> torch.Tensor:
    """A level for each number."""
    return torch.randint(0, LEVELS, (rows, HEAD), device=DEVICE, dtype=torch.int32)


def quantize(batch: int, length: int) -> object:
    """Rotate and round."""
    levels = floats(LEVELS - 1), floats(LEVELS)
    return call(
        "triton_quantize", floats(batch * length * HEADS, HEAD), floats(HEAD, HEAD), *levels, floats(HEAD, HEAD)
    )


def dequantize(batch: int, length: int) -> object:
    """Back to numbers."""
    rows = batch * length * HEADS
    return call("triton_dequantize", codes(rows), floats(LEVELS), floats(HEAD, HEAD), floats(rows))


def inner_product(batch: int, length: int) -> object:
    """Queries against all keys."""
    signs = torch.ones(length, HEAD, device=DEVICE)
    quantized = codes(length), floats(LEVELS), signs, floats(HEAD, HEAD), floats(length), floats(length)
    return call("triton_inner_product", floats(batch, HEAD), floats(HEAD, HEAD), *quantized)


OPERATORS = {"quantize": quantize, "dequantize": dequantize, "inner-product": inner_product}

"""PolarQuant's transforms, its retention and its products with quantized weights."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import ANY, DEVICE, HEAD, HEADS, HIDDEN, normal, plain

PACKAGE = Package("polarquant", "0.6.0")
BARE = ("polarengine_vllm", "polarengine_vllm.kernels")
BLOCK, WIDE = 128, 256
SHAPES_OF = {"retention": ANY[1:]}


def call(module: str, name: str, *arguments: Any, **more: Any) -> object:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"polarengine_vllm.kernels.{module}"), name)(*arguments, **more)


def codes() -> torch.Tensor:
    """A quantized weight."""
    return torch.randint(0, 8, (WIDE, HIDDEN), device=DEVICE, dtype=torch.int8)


def levels() -> list[torch.Tensor]:
    """Each block's norm, and the values of the codes."""
    return [plain(WIDE, HIDDEN // BLOCK, dtype=torch.float32), plain(8, dtype=torch.float32)]


def retention(batch: int, length: int) -> object:
    """Linear attention with decay."""
    made = [normal(batch, HEADS, length, HEAD) for _ in range(3)]
    return call("gla_retention", "gla_retention", *made, torch.rand(HEADS, device=DEVICE))


def transform(batch: int, length: int) -> object:
    """A Walsh-Hadamard transform of each row."""
    return call("fwht_train", "fwht_triton", normal(batch * length, HIDDEN, dtype=torch.float32))


def matrix(batch: int, length: int) -> object:
    """A product with a quantized weight."""
    x = plain(batch * length, HIDDEN, dtype=torch.float32)
    return call("polar_gemm", "polar_matmul", codes(), x, *levels(), WIDE, HIDDEN, HIDDEN // BLOCK)


def packed(batch: int, length: int) -> object:
    """A product with a weight of two codes in each byte."""
    packed_codes = torch.randint(0, 255, (WIDE, HIDDEN // 2), device=DEVICE, dtype=torch.uint8)
    x = plain(batch * length, HIDDEN, dtype=torch.float32)
    return call("polar_gemm", "polar_gemm_packed", packed_codes, x, *levels(), WIDE, HIDDEN // 2, HIDDEN // BLOCK)


def split(batch: int, length: int) -> object:
    """A product with one row, split along its features."""
    x = plain(HIDDEN, dtype=torch.float32)
    made = codes(), x, *levels(), WIDE, HIDDEN, HIDDEN // BLOCK
    return call("polar_gemv_splitk", "polar_gemv_splitk", *made)


def quantize(batch: int, length: int) -> object:
    """Round each number to the nearest level."""
    x = normal(batch * length, HIDDEN, dtype=torch.float32)
    return call("polar_quantize", "polar_quantize", x, plain(16, dtype=torch.float32))


OPERATORS = {
    "retention": retention,
    "transform": transform,
    "matrix": matrix,
    "matrix-of-one": split,
    "packed": packed,
    "quantize": quantize,
}

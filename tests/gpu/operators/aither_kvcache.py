"""aither-kvcache's compressed cache of keys and values."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, PAGE, PAGES, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("aither-kvcache", "2.4.1")
BARE = ("aither_kvcache", "turboquant")


def floats(*shape: int) -> torch.Tensor:
    """Single precision."""
    return plain(*shape, dtype=torch.float32)


def rows(name: str, width: int, levels: int, *more: Any) -> Callable[[int, int], object]:
    """Compress or decompress the heads of all tokens."""

    def call(batch: int, length: int) -> object:
        tokens = batch * length * HEADS
        packed = torch.randint(0, 255, (tokens, width), device=DEVICE, dtype=torch.uint8)
        x = packed if more else floats(tokens, width)
        return getattr(importlib.import_module("turboquant.triton_ops"), name)(x, floats(levels), *more)

    return call


def update(batch: int, length: int) -> object:
    """Compress the new tokens into their pages."""
    tokens = batch * length
    slots = torch.arange(tokens, device=DEVICE) % (PAGES * PAGE)
    out = torch.zeros(PAGES, PAGE, HEADS, HEAD // 2, device=DEVICE, dtype=torch.uint8), floats(PAGES, PAGE, HEADS)
    made = plain(tokens, HEADS, HEAD, dtype=torch.float16), slots, *out, floats(HEAD, HEAD), floats(15)
    return importlib.import_module("aither_kvcache.fused_kv_update").fused_tq4_kv_update(*made, PAGE)


OPERATORS = {
    "quantize-4": rows("triton_quantize_4bit", HEAD, 15),
    "quantize-2": rows("triton_quantize_2bit", HEAD, 3),
    "dequantize-4": rows("triton_dequantize_4bit", HEAD // 2, 16, HEAD),
    "dequantize-2": rows("triton_dequantize_2bit", HEAD // 4, 4, HEAD),
    "update": update,
}

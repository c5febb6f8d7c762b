"""turbo-attn's codec of keys and values, and products whose rows do not depend on each other."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HEAD, HEADS, HIDDEN, plain

PACKAGE = Package("turbo-attn", "0.70.1")
BARE = ("tkv", "tkv.codec", "tkv.runtime")
BITS, LEVELS = 4, 16


def call(module: str, name: str, *arguments: Any) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"tkv.{module}"), name)(*arguments)


def floats(*shape: int) -> torch.Tensor:
    """Single precision."""
    return plain(*shape, dtype=torch.float32)


def codec(batch: int, length: int) -> object:
    """Compress and decompress the heads of all tokens."""
    module, rotation, levels = "codec.triton_kernels", floats(HEAD, HEAD), floats(LEVELS)
    made = plain(batch * length, HEADS, HEAD), rotation, floats(LEVELS - 1), BITS, HEAD
    packed, norms = call(module, "triton_compress", *made)
    call(module, "triton_decompress_raw", packed, norms, levels, BITS, HEAD)
    call(module, "triton_decompress_raw_kv", packed, norms, levels, packed, norms, levels, BITS, BITS, HEAD)
    return call(module, "triton_decompress", packed, norms, rotation, levels, BITS, HEAD)


def product(batch: int, length: int) -> object:
    """Each row against one matrix."""
    return call("runtime._rows_matmul", "rows_matmul", plain(batch * length, HIDDEN), plain(HIDDEN, 256))


def product_by_head(batch: int, length: int) -> object:
    """Each head's row against its own matrix."""
    return call("runtime._rows_matmul", "rows_matmul", plain(batch * length, HEADS, HEAD), plain(HEADS, HEAD, 128))


OPERATORS = {"codec": codec, "product": product, "product-by-head": product_by_head}

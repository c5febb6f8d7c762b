"""piecewise-sparse-attention: exact attention to a few blocks, and sums of the others."""

from __future__ import annotations

import importlib
from typing import Any

from tests.gpu.operators.tensors import HEAD, HEADS, plain

REPOSITORY = "xie-lab-ml/piecewise-sparse-attention"
COMMIT = "8604494f6660045d6f477f9dcb56b334d06b932c"
SHAPES = ((1, 128), (2, 256), (3, 384), (5, 512), (6, 640), (4, 1280), (2, 1664), (1, 4096))


def call(name: str, batch: int, length: int, *arguments: object, **more: object) -> Any:
    """Call a function of the library with queries, keys and values."""
    made = [plain(batch, HEADS, length, HEAD) for _ in range(3)]
    module = importlib.import_module("piecewise_attn.kernels.piecewise_sparse_attn_tma")
    return getattr(module, name)(*made, *arguments, **more)


def attend(batch: int, length: int) -> object:
    """A tenth of all blocks."""
    return call("piecewise_sparse_attention", batch, length)


def biased(batch: int, length: int) -> object:
    """A quarter of all blocks, which what is left out also chooses."""
    return call("piecewise_sparse_attention", batch, length, density=0.25, use_bias=True)


def means(batch: int, length: int) -> object:
    """Means of blocks."""
    return call("chunk_reduce", batch, length, 64)


OPERATORS = {"attend": attend, "biased": biased, "means": means}

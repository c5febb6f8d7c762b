"""XunhaoLai's native sparse attention: compressed keys, chosen blocks, and a token at a time."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, counts, lengths, normal, plain, starts

REPOSITORY = "XunhaoLai/native-sparse-attention-triton"
COMMIT = "9bea856c911ebf263be88d797fb28458f82f1d94"
BARE = (
    "native_sparse_attention",
    "native_sparse_attention.ops",
    "native_sparse_attention.ops.triton",
    "native_sparse_attention.module",
)
QUERIES, HELD, WINDOW, STRIDE, BLOCK, CHOSEN = 32, 2, 32, 16, 64, 8
SHAPES = ((1, 64), (2, 100), (3, 128), (5, 200), (6, 333), (7, 512), (1, 640), (2, 777), (4, 1000))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"native_sparse_attention.{module}"), name)(*arguments, **more)


def pool(batch: int, length: int) -> object:
    """Keys compressed by a weighted mean, and by a projection."""
    sizes = lengths(batch, length)
    keys, ends = normal(sum(sizes), HELD, HEAD), starts(sizes)
    call("ops.triton.weighted_pool", "weightedpool_compress", keys, normal(HELD, WINDOW), ends, WINDOW, STRIDE)
    weight = normal(HELD, WINDOW * HEAD, HEAD)
    return call("ops.triton.linear_compress", "linear_compress", keys, weight, ends, WINDOW, STRIDE)[0]


def compressed(batch: int, length: int) -> object:
    """Attention to the compressed keys, and the blocks that are chosen by it."""
    sizes = lengths(batch, length)
    held = [(size - WINDOW) // STRIDE + 1 for size in sizes]
    made = normal(sum(sizes), QUERIES, HEAD), normal(sum(held), HELD, HEAD), normal(sum(held), HELD, HEAD)
    numbers = WINDOW, STRIDE, BLOCK, CHOSEN, starts(sizes), starts(held), max(sizes), max(held)
    return call("ops.triton.compressed_attention", "compressed_attention", *made, *numbers)[0]


def chosen(batch: int, length: int) -> object:
    """Attention to the chosen blocks."""
    sizes = lengths(batch, length)
    made = normal(sum(sizes), QUERIES, HEAD), normal(sum(sizes), HELD, HEAD), normal(sum(sizes), HELD, HEAD)
    blocks = torch.zeros(HELD, sum(sizes), CHOSEN, device=DEVICE, dtype=torch.int32)
    return call("ops.triton.topk_sparse_attention", "topk_sparse_attention", *made, blocks, BLOCK, starts(sizes))


def dense(batch: int, length: int) -> object:
    """Attention to all keys."""
    sizes = lengths(batch, length)
    made = normal(sum(sizes), QUERIES, HEAD), normal(sum(sizes), HELD, HEAD), normal(sum(sizes), HELD, HEAD)
    ends = starts(sizes)
    return call("ops.triton.flash_attention", "flash_attention_varlen", *made, ends, ends, max(sizes), max(sizes), True)


def decode(batch: int, length: int) -> object:
    """One token of each sequence, against all keys and against the chosen blocks."""
    made = plain(batch, QUERIES, HEAD), plain(batch, length, HELD, HEAD), plain(batch, length, HELD, HEAD)
    held = counts(lengths(batch, length))
    call("ops.triton.flash_attention_decode", "flash_attention_decode", *made, held)
    blocks = torch.zeros(HELD, batch, CHOSEN, device=DEVICE, dtype=torch.int32)
    module = "ops.triton.topk_sparse_attention_decode"
    return call(module, "topk_sparse_attention_decode", *made, blocks, BLOCK, held)


OPERATORS = {"pool": pool, "compressed": compressed, "chosen": chosen, "dense": dense, "decode": decode}

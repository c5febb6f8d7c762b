"""MoA's attention to the first and the last tokens of each head, whole and of one token."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import ANY, DEVICE, HEAD, HEADS, counts, plain

REPOSITORY = "thu-nics/MoA"
COMMIT = "e224fe3e00cf5e10a2fca36b52b026fc18669931"
# The package itself imports models.
BARE = ("MoA",)
BLOCK = 64
SHAPES_OF = {"decode": ANY[1:]}


def call(module: str, name: str, *arguments: object) -> Any:
    """Call an operator of the library."""
    return getattr(importlib.import_module(f"MoA.kernels.{module}"), name).apply(*arguments)


def heads(batch: int, length: int) -> list[torch.Tensor]:
    """Queries, keys and values."""
    return [plain(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(3)]


def prefill(batch: int, length: int) -> object:
    """Attention to the first and the last blocks."""
    kept = counts([1] * HEADS), counts([2] * HEADS)
    return call("block_sparse_attention_prefill", "_sparse_attention_moa_prefill", *heads(batch, length), 0.125, *kept)


def table(batch: int, length: int) -> object:
    """Attention to the blocks of a table."""
    many = -(-length // BLOCK)
    blocks = torch.zeros(HEADS, many, min(many, 4), device=DEVICE, dtype=torch.int64)
    return call("block_sparse_attention_prefill", "_sparse_attention_prefill", *heads(batch, length), 0.125, blocks)


def decode(batch: int, length: int) -> object:
    """Attention of one token to keys of heads, one after the other."""
    wide = -(-length // BLOCK) * BLOCK
    kept = [plain(batch, HEADS * wide, HEAD, dtype=torch.float16) for _ in range(2)]
    begins = torch.arange(HEADS + 1, device=DEVICE) * wide
    query = plain(batch, HEADS, 1, HEAD, dtype=torch.float16)
    return call("flash_decoding_moa", "_mixture_of_sparse_attention_decode", query, *kept, begins, 0.125, False)


OPERATORS = {"prefill": prefill, "table": table, "decode": decode}

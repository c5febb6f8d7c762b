"""Attention of MoA, whose heads see the first and the last tokens, and a table of blocks."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, counts, plain

REPOSITORY = "thu-nics/MoA"
COMMIT = "e224fe3e00cf5e10a2fca36b52b026fc18669931"
BLOCK, SEEN = 64, 4
FIRST, LAST = [1, 1, 2, 2], [1, 2, 4, 8]
SHAPES = CHUNKS


def kernels(module: str) -> Any:
    """A module of the library's kernels."""
    return importlib.import_module(f"MoA.kernels.{module}")


def heads(batch: int, length: int) -> list[torch.Tensor]:
    """Queries, keys and values."""
    return [plain(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(3)]


def prefill(batch: int, length: int) -> object:
    """Attention to the first and last blocks of tokens."""
    attention = kernels("block_sparse_attention_prefill")._sparse_attention_moa_prefill.apply
    return attention(*heads(batch, length), HEAD**-0.5, counts(FIRST), counts(LAST), BLOCK, BLOCK)


def table(batch: int, length: int) -> object:
    """Attention to the blocks in a table."""
    places = torch.zeros(HEADS, length // BLOCK, SEEN, device=DEVICE, dtype=torch.int64)
    attention = kernels("block_sparse_attention_prefill").sparse_attention_prefill
    return attention(*heads(batch, length), HEAD**-0.5, places)


def chosen(batch: int, length: int) -> object:
    """One token's attention to the blocks in a table."""
    query, key, value = heads(batch, length)
    places = torch.zeros(batch, HEADS, SEEN, device=DEVICE, dtype=torch.int64)
    attention = kernels("block_sparse_attention_prefill")._sparse_attention_decode.apply
    return attention(query[:, :, :1], key, value, HEAD**-0.5, places)


def decode(batch: int, length: int) -> object:
    """One token's attention to cached ones of all heads, one after the other."""
    query = plain(batch, HEADS, 1, HEAD, dtype=torch.float16)
    cached = [plain(batch, HEADS * length, HEAD, dtype=torch.float16) for _ in range(2)]
    ends = counts([length * head for head in range(HEADS + 1)], torch.int64)
    attention = kernels("flash_decoding_moa")._mixture_of_sparse_attention_decode.apply
    return attention(query, *cached, ends, HEAD**-0.5, True)


OPERATORS = {"prefill": prefill, "table": table, "chosen": chosen, "decode": decode}

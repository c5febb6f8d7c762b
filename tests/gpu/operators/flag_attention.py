"""FlagAttention's attentions: plain, in two pieces, of pages, with a split of the keys, and its sums."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEADS, cache, lengths, normal, page_table, plain

REPOSITORY = "FlagOpen/FlagAttention"
COMMIT = "ee91638dec6da8c00c4113d179f469e0ffcd5852"
FOLDERS = ("src",)
BARE = ("flag_attn",)
HEAD = 64


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"flag_attn.{module}"), name)(*arguments, **more)


def attention(batch: int, length: int) -> object:
    """Causal attention, forward and backward."""
    return call("flash", "attention", *(normal(batch, HEADS, length, HEAD) for _ in range(3)), causal=True)


def total_attention(batch: int, length: int) -> object:
    """What each key gets from all queries."""
    made = [plain(batch, HEADS, length, HEAD) for _ in range(3)]
    return call("flash", "attention", *made, causal=True, return_total_attention=True)


def pieces(batch: int, length: int) -> object:
    """Attention with other queries and keys beyond a distance, forward and backward."""
    made = [normal(batch, HEADS, length, HEAD) for _ in range(5)]
    return call("piecewise", "attention", *made, 64, causal=True)


def decode(batch: int, length: int) -> object:
    """One query against all keys, which are split."""
    query, keys, values = (plain(batch, HEADS, one, HEAD) for one in (1, length, length))
    return call("split_kv", "attention", query, keys, values)


def pages(batch: int, length: int) -> object:
    """One query for each sequence against its pages."""
    keys = cache(head=HEAD).permute(0, 2, 1, 3).contiguous()
    held = torch.tensor(lengths(batch, length), device=DEVICE, dtype=torch.int32)
    query = plain(batch, HEADS * 2, HEAD, dtype=torch.float16)
    return call("paged", "attention", query, keys, keys, held, page_table(batch, length), HEAD**-0.5, length)


OPERATORS = {
    "attention": attention,
    "total-attention": total_attention,
    "pieces": pieces,
    "decode": decode,
    "pages": pages,
}

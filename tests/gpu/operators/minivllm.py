"""MinivLLM's attention of whole sequences and of one token, with its cache."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, PAGE, PAGES, counts, lengths, page_table, plain, starts

REPOSITORY = "Wenyueh/MinivLLM"
COMMIT = "e63c96c5da864ec450751700ebd1eb967fd7992c"
FOLDERS = ("src",)
# These import models.
BARE = ("myvllm", "myvllm.layers")
HEADS, HELD, HEAD = 8, 2, 64


def call(name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("myvllm.layers.attention"), name)(*arguments)


def cache() -> list[torch.Tensor]:
    """Keys and values in pages."""
    return [plain(PAGES, PAGE, HELD, HEAD) for _ in range(2)]


def store(batch: int, length: int) -> object:
    """All tokens into the cache."""
    tokens = batch * length
    places = torch.arange(tokens, device=DEVICE, dtype=torch.int32) % (PAGES * PAGE)
    return call("store_kvcache", plain(tokens, HELD, HEAD), plain(tokens, HELD, HEAD), *cache(), places, PAGE)


def prefill(batch: int, length: int) -> object:
    """Attention of whole sequences."""
    held = lengths(batch, length)
    made = plain(sum(held), HEADS, HEAD), plain(sum(held), HELD, HEAD), plain(sum(held), HELD, HEAD)
    return call("flash_attention_prefill", *made, starts(held), 0.125, HEADS, HELD, HEAD)


def decode(batch: int, length: int) -> object:
    """Attention of one token to cached ones."""
    made = plain(batch, HEADS, HEAD), *cache(), page_table(batch, length), counts(lengths(batch, length))
    return call("paged_attention_decode", *made, 0.125, HEADS, HELD, HEAD, PAGE)


OPERATORS = {"store": store, "prefill": prefill, "decode": decode}

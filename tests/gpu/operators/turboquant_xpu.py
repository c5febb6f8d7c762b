"""A cache of keys and values of few bits: what is stored in it, and attention to it."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, PAGE, PAGES, counts, page_table, plain

REPOSITORY = "bryanvine/turboquant-xpu"
COMMIT = "0ffb360b5b6abf5e177eb35bff3ab393e6bac6dd"
FOLDERS = ("src",)
BARE = ("turboquant_xpu", "turboquant_xpu.kernels")
HEADS, GROUPS, BITS, VALUE_BITS = 8, 2, 3, 4
KEY_BYTES, SLOT = HEAD * BITS // 8 + 2, 128
SHAPES = ((1, 1), (2, 33), (3, 100), (4, 777), (1, 1500), (2, 2048))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"turboquant_xpu.kernels.{module}"), name)(*arguments, **more)


def numbers(*shape: int) -> torch.Tensor:
    """Random numbers in full precision."""
    return plain(*shape, dtype=torch.float32)


def pages() -> torch.Tensor:
    """The cache."""
    return torch.zeros(PAGES, PAGE, GROUPS, SLOT, device=DEVICE, dtype=torch.uint8)


def store(batch: int, length: int, narrow: bool) -> object:
    """The keys and values of all tokens into the cache, keys in eight bits where `narrow`."""
    tokens = batch * length
    made = (plain(tokens, GROUPS, HEAD, dtype=torch.float16) for _ in "kv")
    places = torch.arange(tokens, device=DEVICE, dtype=torch.int32)
    codes = numbers(HEAD, HEAD), numbers(2**BITS), numbers(2**BITS - 1)
    size = HEAD if narrow else KEY_BYTES
    return call(
        "triton_store", "triton_turboquant_store", *made, pages(), places, *codes, BITS, size, VALUE_BITS, narrow
    )


def decode(batch: int, length: int, narrow: bool) -> object:
    """Attention of one token of each sequence to the cache."""
    made = plain(batch, HEADS, HEAD, dtype=torch.float16), pages(), page_table(batch, length), counts([length] * batch)
    codes = numbers(HEAD, HEAD), numbers(2**BITS), HEAD**-0.5
    size = HEAD if narrow else KEY_BYTES
    return call("triton_decode", "triton_turboquant_decode_attention", *made, *codes, BITS, size, VALUE_BITS, narrow)


OPERATORS = {
    "store": lambda batch, length: store(batch, length, narrow=False),
    "store_eight": lambda batch, length: store(batch, length, narrow=True),
    "decode": lambda batch, length: decode(batch, length, narrow=False),
    "decode_eight": lambda batch, length: decode(batch, length, narrow=True),
}

"""Attention to the first tokens and a window, with and without a learned sink, and its decoding."""

from __future__ import annotations

import importlib
from typing import Any

from tests.gpu.operators.tensors import HEAD, normal, plain

REPOSITORY = "RulinShao/sink-flash-attention-kernel"
COMMIT = "005b17121ba9b038ab381dcb0938c31480cb0bdd"
BARE = ("sink_attention",)
HEADS, GROUPS, SINKS, WINDOW = 8, 2, 4, 128
SHAPES = ((1, 16), (2, 33), (3, 100), (4, 256), (1, 777), (2, 1024))
CACHES = ((1, 1), (2, 33), (3, 100), (4, 777), (1, 3000), (2, 4096))


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"sink_attention.{module}"), name)(*arguments)


def attend(batch: int, length: int) -> object:
    """All tokens, forward and backward."""
    made = normal(batch, HEADS, length, HEAD), *(normal(batch, GROUPS, length, HEAD) for _ in "kv")
    return call("sink_flash_attention", "sink_flash_attention", *made, SINKS, WINDOW)


def attend_learned(batch: int, length: int) -> object:
    """The same with a sink for each head that is learned."""
    made = normal(batch, HEADS, length, HEAD), *(normal(batch, GROUPS, length, HEAD) for _ in "kv")
    return call("sink_flash_attention", "sink_flash_attention", *made, SINKS, WINDOW, normal(HEADS))


def decode(batch: int, length: int) -> object:
    """One token for each sequence."""
    made = plain(batch, HEADS, 1, HEAD), *(plain(batch, GROUPS, length, HEAD) for _ in "kv")
    return call("decode_kernel", "sink_decode_attention", *made, plain(HEADS))


OPERATORS = {"attend": attend, "attend_learned": attend_learned, "decode": decode}
SHAPES_OF = {"decode": CACHES}

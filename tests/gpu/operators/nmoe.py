"""nmoe's attention: to compressed blocks, in a window with sinks, and the scores of its indexer."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, normal, plain

REPOSITORY = "modal-projects/nmoe"
COMMIT = "556f77cdad2591d6cef456c5fa7ec22d75bd4513"
COMPRESSED, STRIDE, BLOCK, WINDOW, HELD, SHARED = 32, 16, 64, 128, 2, 2
# Compressed keys are of whole blocks.
LONG = ((1, 64), (2, 100), (3, 128), (5, 200), (6, 333), (1, 512), (2, 777), (4, 1000))
# The gradients of attention with sinks are of whole blocks.
BLOCKS = ((1, 64), (2, 128), (3, 192), (5, 320), (6, 448), (7, 640), (4, 1280), (2, 1664))
SHAPES_OF = {"compressed": LONG, "window": BLOCKS, "full": BLOCKS}


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"nmoe.triton.{module}"), name)(*arguments)


def compressed(batch: int, length: int) -> object:
    """Attention to compressed keys, and what each block of keys scored, forward and backward."""
    blocks = (length - COMPRESSED) // STRIDE + 1
    keys, values = (normal(batch, blocks, HEADS, HEAD) for _ in range(2))
    made = normal(batch, length, HEADS, HEAD), keys, values, HEAD**-0.5
    return call("nsa", "cmp_attention", *made, COMPRESSED, STRIDE, BLOCK, length // BLOCK)


def banded(batch: int, length: int, window: int) -> object:
    """Attention with sinks to the last `window` tokens, or to all for 0."""
    keys, values = (normal(batch, length, HELD, HEAD) for _ in range(2))
    start = torch.zeros(1, device=DEVICE, dtype=torch.int32)
    made = normal(batch, length, HELD, SHARED, HEAD), keys, values, normal(HELD * SHARED)
    return call("swa", "attention", *made, HEAD**-0.5, window, start)


def window(batch: int, length: int) -> object:
    """Attention in a window, forward and backward."""
    return banded(batch, length, WINDOW)


def full(batch: int, length: int) -> object:
    """Attention to all tokens before, forward and backward."""
    return banded(batch, length, 0)


def index(batch: int, length: int) -> object:
    """The best keys of each token."""
    made = plain(batch, length, HEADS, HEAD), plain(batch, length, HEAD), plain(batch, length, HEADS)
    call("dsa", "lightning_indexer", *made, 256)
    return call("dsa", "lightning_indexer_fused", *made, 32)


OPERATORS = {"compressed": compressed, "window": window, "full": full, "index": index}

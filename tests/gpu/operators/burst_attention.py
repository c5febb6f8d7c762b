"""Burst-Attention's share of attention, added to what came before."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, HEAD, HEADS, plain

REPOSITORY = "MayDomine/Burst-Attention"
COMMIT = "b088c554072935074ea9c643de5ee363be5ab1f6"
BARE = ("burst_attn",)
SHAPES = CHUNKS


def call(name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("burst_attn.lao"), name)(*arguments, **more)


def heads(batch: int, length: int) -> list[torch.Tensor]:
    """Queries, keys and values."""
    return [plain(batch, length, HEADS, HEAD) for _ in range(3)]


def sums(batch: int, length: int) -> list[torch.Tensor]:
    """Largest scores and logarithms of sums."""
    return [plain(batch, HEADS, length, dtype=torch.float32) for _ in range(2)]


def forward(batch: int, length: int) -> object:
    """A share of attention to all tokens, and to those before."""
    for causal in (False, True):
        held = *sums(batch, length), plain(batch, length, HEADS, HEAD)
        call("_flash_attn_forward", *heads(batch, length), *held, causal=causal)
    return None


def biased(batch: int, length: int) -> object:
    """A share of attention with a bias."""
    held = *sums(batch, length), plain(batch, length, HEADS, HEAD)
    bias = plain(HEADS, batch, length, length)
    call("_flash_attn_forward", *heads(batch, length), *held, bias=bias)
    return None


def backward(batch: int, length: int) -> object:
    """What a share hands back."""
    for causal in (False, True):
        made = plain(batch, length, HEADS, HEAD), *heads(batch, length), *sums(batch, length), *heads(batch, length)
        call("_flash_attn_backward", *made, causal=causal)
    return None


OPERATORS = {"forward": forward, "biased": biased, "backward": backward}

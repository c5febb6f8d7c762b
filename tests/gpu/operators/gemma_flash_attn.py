"""gemma-triton-flash-attn's attention of wide heads, to all tokens and to windows."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tests.gpu.operators.tensors import normal

if TYPE_CHECKING:
    import torch

REPOSITORY = "zzhhjjj/gemma-triton-flash-attn"
COMMIT = "ad520fa61d2fb0066ca8fb99aad985193471b3e8"
BARE = ("flash_attn",)
HEADS, HELD, HEAD, WINDOW = 8, 2, 256, 128


def call(name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("flash_attn.attention"), name)(*arguments, **more)


def heads(batch: int, length: int, held: int = HELD, head: int = HEAD) -> list[torch.Tensor]:
    """Queries, and keys and values of `held` heads."""
    return [normal(batch, many, length, head) for many in (HEADS, held, held)]


def whole(batch: int, length: int) -> object:
    """Attention to all tokens, of two widths."""
    for head in (HEAD, 2 * HEAD):
        call("attention_flash_gqa", *(one.detach() for one in heads(batch, length, head=head)), causal=True)
    return None


def window(batch: int, length: int) -> object:
    """Attention to the last tokens."""
    return call("attention_flash_gqa", *(one.detach() for one in heads(batch, length)), causal=True, slide_size=WINDOW)


def train(batch: int, length: int) -> object:
    """Attention to all tokens before, forward and backward."""
    return call("flash_attn_gqa_train", *heads(batch, length), causal=True)


def train_window(batch: int, length: int) -> object:
    """Attention to the last tokens, forward and backward."""
    return call("flash_attn_gqa_train", *heads(batch, length), causal=True, slide_size=WINDOW)


def lessons(batch: int, length: int) -> object:
    """The first two that the library was made of."""
    made = [one.detach() for one in heads(batch, length, HEADS, 64)]
    call("attention_triton", *made)
    return call("attention_triton_opt", *made)


OPERATORS = {
    "whole": whole,
    "window": window,
    "train": train,
    "train-window": train_window,
    "lessons": lessons,
}

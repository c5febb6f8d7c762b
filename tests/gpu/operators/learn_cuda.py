"""The Triton lessons of learn-cuda: products, layers of a model that is one kernel, and one token's attention."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import HEAD, HEADS, HIDDEN, plain

REPOSITORY = "gau-nernst/learn-cuda"
COMMIT = "1454f8b71499a68eacdbf44c08e36a7003d8ab99"
FOLDERS = ("02a_matmul_simt", "11_gemv", "12_megakernel")
WIDE, HELD, HELD_TOKENS = 1024, 2, 2048


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of one of the lessons."""
    return getattr(importlib.import_module(module), name)(*arguments)


def product(batch: int, length: int) -> object:
    """Tokens times a layer."""
    made = plain(batch * length, HIDDEN, dtype=torch.float32), plain(HIDDEN, WIDE, dtype=torch.float32)
    return call("matmul_triton", "matmul", *made)


def row(_batch: int, length: int) -> object:
    """Scores of `length` tokens times their values."""
    return call("triton_v1", "triton_v1", plain(1, length), plain(length, HIDDEN))


def feed_forward(batch: int, length: int) -> object:
    """Two layers of all tokens, in one kernel and in three."""
    weights = plain(HIDDEN), plain(2 * WIDE, HIDDEN), plain(HIDDEN, WIDE)
    call("mlp_triton_v1", "mlp_triton_v1_2stage", plain(batch * length, HIDDEN), *weights)
    return call("mlp_triton_v1", "mlp_triton_v1", plain(batch * length, HIDDEN), *weights)


def single(_batch: int, _length: int) -> object:
    """Two layers of one token."""
    weights = plain(HIDDEN), plain(2 * WIDE, HIDDEN), plain(HIDDEN, WIDE)
    return call("mlp_gemv_triton_v1", "mlp_gemv_triton_v1", plain(1, HIDDEN), *weights)


def attend(version: str, length: int) -> object:
    """One token's attention to the `length` before, with its layers."""
    before = plain(2, HELD_TOKENS, HELD, HEAD)
    layer = plain((HEADS + 2 * HELD) * HEAD, HIDDEN), plain(HEAD), plain(HEAD)
    turns = plain(HELD_TOKENS, HEAD, dtype=torch.float32)
    made = plain(1, HIDDEN), plain(HIDDEN), before, *layer, turns, plain(HIDDEN, HEADS * HEAD), length
    return call(f"attn_triton_{version}", f"attn_triton_{version}", *made)


def attention(_batch: int, length: int) -> object:
    """Attention in one part."""
    return attend("v1", length)


def split_attention(_batch: int, length: int) -> object:
    """Attention in several parts."""
    return attend("v2", length)


OPERATORS = {
    "product": product,
    "row": row,
    "feed-forward": feed_forward,
    "single": single,
    "attention": attention,
    "split-attention": split_attention,
}

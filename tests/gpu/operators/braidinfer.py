"""braidinfer's norms with the layer of queries, keys and values, and softmaxes of pages."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HIDDEN, plain

REPOSITORY = "braidpool/braidinfer"
COMMIT = "a328305fc8fdf3145e39859b53e09490bd822a51"
# The package itself imports models.
BARE = ("braidinfer",)
HEADS, HELD = 8, 2
WIDE = (HEADS + 2 * HELD) * HEAD
SHAPES_OF = {"output": ((1, 1),)}


def find(module: str, name: str) -> Any:
    """A function or class of the library."""
    return getattr(importlib.import_module(f"braidinfer.kernels.{module}"), name)


def mixed(batch: int, length: int) -> object:
    """A norm in 32 bits and a layer with a bias in 16."""
    made = plain(batch * length, HIDDEN), plain(HIDDEN), plain(WIDE, HIDDEN), plain(WIDE), HEADS, HELD
    return find("fused_rmsnorm_qkv_mixed_precision", "FusedRMSNormQKVMixedPrecision").forward(*made)


def biased(batch: int, length: int) -> object:
    """A norm and a layer with a bias."""
    made = plain(batch * length, HIDDEN), plain(HIDDEN), plain(WIDE, HIDDEN), plain(WIDE), HEADS, HELD
    return find("fused_rmsnorm_qkv_with_bias", "FusedRMSNormQKVWithBias").forward(*made)


def production(batch: int, length: int) -> object:
    """A norm and a layer without a bias, as it is used."""
    made = plain(batch * length, HIDDEN), plain(HIDDEN), plain(WIDE, HIDDEN), HEADS, HELD
    return find("fused_rmsnorm_qkv_production", "FusedRMSNormQKV").forward(*made)


def minimal(batch: int, length: int) -> object:
    """A norm and a layer without a bias, in 32 bits."""
    made = plain(batch * length, HIDDEN), plain(HIDDEN), plain(WIDE, HIDDEN), HEADS, HELD
    return find("fused_rmsnorm_qkv_minimal_f32", "FusedRMSNormQKVMinimalF32").forward(*made)


def norm(batch: int, length: int) -> object:
    """All tokens' norms."""
    return find("rmsnorm_f32", "RMSNormF32").forward(plain(batch * length, HIDDEN), plain(HIDDEN))


def output(_batch: int, _length: int) -> object:
    """The layer after attention, of one token: it takes no more."""
    made = plain(1, 1, HIDDEN), plain(HIDDEN, HIDDEN), plain(1, 1, HIDDEN)
    return find("fused_attention_output", "FusedAttentionOutput").forward(*made)


def softmax(batch: int, length: int) -> object:
    """Attention of `batch` tokens to a page of `length` more."""
    heads = plain(HEADS, batch, HEAD), plain(HEADS, length, HEAD), plain(HEADS, length, HEAD)
    sums = [plain(HEADS, batch, dtype=torch.float32) for _ in range(2)]
    places = torch.arange(batch, device=DEVICE) + length, torch.arange(length, device=DEVICE)
    find("online_softmax", "online_softmax_update")(
        *heads, *sums, plain(HEADS, batch, HEAD, dtype=torch.float32), *places, 0.125
    )
    return None


OPERATORS = {
    "mixed": mixed,
    "biased": biased,
    "production": production,
    "minimal": minimal,
    "norm": norm,
    "output": output,
    "softmax": softmax,
}

"""cache-dit's eight-bit messages between devices, and the merging of attention's parts."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HEAD, HEADS, HIDDEN, plain

PACKAGE = Package("cache-dit", "1.5.3")
BARE = ("cache_dit", "cache_dit.kernels")
DEVICES = 2


def call(name: str, *arguments: object) -> object:
    """Call a function of the library."""
    return getattr(importlib.import_module("cache_dit.kernels.triton"), name)(*arguments)


def by_token(batch: int, length: int) -> object:
    """Each token to eight bits and back."""
    return call("fp8_comm_per_token_dequant", call("fp8_comm_per_token_quant", plain(batch, length, HIDDEN)))


def by_head(batch: int, length: int) -> object:
    """Heads for each device to eight bits, and those of one device back."""
    sent = call("fp8_comm_qkv_permute_quant", plain(batch, length, DEVICES, HEADS, HEAD))
    return call("fp8_comm_qkv_permute_dequant", sent[0])  # type: ignore[index]


def merge(batch: int, length: int) -> object:
    """Two parts of attention."""
    parts = [(plain(batch, length, HEADS, HEAD), plain(batch, length, HEADS, 1, dtype=torch.float32)) for _ in range(2)]
    return call("fused_merge_attn_states", *parts[0], *parts[1])


OPERATORS = {"by-token": by_token, "by-head": by_head, "merge": merge}

"""Fused experts of Qwen3: products of groups, in 16 and in 4 bits, and their gates."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, normal, plain

REPOSITORY = "woct0rdho/transformers-qwen3-moe-fused"
COMMIT = "5ad116aeafca3751490a7a8c2d75f8bafe68c66e"
BARE = ("qwen3_moe_fused",)
UNUSED = ("bitsandbytes", "bitsandbytes.functional")
# The library prunes its configs by sizes: the first fit where layers are this narrow, and experts have few tokens.
EXPERTS, CHOSEN, HIDDEN, WIDE, BLOCK = 128, 2, 16, 16, 64
SHAPES = ((1, 1), (2, 16), (3, 33), (5, 100), (6, 127), (7, 200), (1, 300), (2, 512), (3, 640))


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"qwen3_moe_fused.{module}"), name)(*arguments)


def sizes(rows: int) -> torch.Tensor:
    """How many rows each expert has."""
    many = [rows // EXPERTS] * EXPERTS
    many[0] += rows - sum(many)
    return torch.tensor(many, device=DEVICE, dtype=torch.int32)


def experts(batch: int, length: int) -> object:
    """Rows by the weights of their experts and through a gate, forward and backward."""
    rows = batch * length * CHOSEN
    made, many = normal(rows, HIDDEN), sizes(rows)
    gate, up = (call("functional", "moe_fused_linear", made, normal(EXPERTS, WIDE, HIDDEN), many) for _ in range(2))
    gated = call("kernels.silu_mul", "silu_mul", gate, up)
    return call("functional", "moe_fused_linear", gated, normal(EXPERTS, HIDDEN, WIDE), many)


def adapted(batch: int, length: int) -> object:
    """A whole layer with adapters of a low rank, forward and backward."""
    rows, rank = batch * length * CHOSEN, 16
    into = [plain(EXPERTS, WIDE, HIDDEN), None, normal(EXPERTS, rank, HIDDEN), normal(EXPERTS, WIDE, rank), 1.0]
    again = [plain(EXPERTS, WIDE, HIDDEN), None, normal(EXPERTS, rank, HIDDEN), normal(EXPERTS, WIDE, rank), 1.0]
    out = [plain(EXPERTS, HIDDEN, WIDE), None, normal(EXPERTS, rank, WIDE), normal(EXPERTS, HIDDEN, rank), 1.0]
    return call("kernels.fast_lora", "fast_lora", normal(rows, HIDDEN), *into, *again, *out, sizes(rows))


def four_bits(batch: int, length: int) -> object:
    """Rows by weights in four bits."""
    rows, many = batch * length * CHOSEN, EXPERTS * WIDE * HIDDEN
    kept = {"quant_type": "nf4", "blocksize": BLOCK, "code": plain(16, dtype=torch.float32), "nested": False}
    state = SimpleNamespace(
        **kept, absmax=plain(many // BLOCK, dtype=torch.float32), shape=torch.Size((EXPERTS, WIDE, HIDDEN))
    )
    packed = torch.zeros(many // 2, 1, device=DEVICE, dtype=torch.uint8)
    made = plain(rows, HIDDEN), packed, state, sizes(rows)
    return call("grouped_gemm.forward_4bit", "grouped_gemm_forward_4bit", *made)


OPERATORS = {"experts": experts, "adapted": adapted, "four-bits": four_bits}

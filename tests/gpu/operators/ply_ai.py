"""Ply's layers: linear, attention, experts, norm, rotation and pooling."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, counts, lengths, page_table, plain

PACKAGE = Package("ply-ai", "1.0.5")
BARE = ("ply", "ply.vision")
WIDE, EXPERTS, PAGE, PAGES = 256, 4, 16, 640


def layer(module: str, name: str, *arguments: Any, **more: Any) -> Any:
    """A layer of the library, on the device."""
    return getattr(importlib.import_module(f"ply.{module}"), name)(*arguments, **more).to(DEVICE).half()


def halves(*shape: int) -> torch.Tensor:
    """Half precision."""
    return plain(*shape, dtype=torch.float16)


def linear(batch: int, length: int) -> object:
    """A product with a weight, and a bias."""
    with torch.no_grad():
        return layer("linear", "Linear", HIDDEN, WIDE)(halves(batch, length, HIDDEN))


def ternary(batch: int, length: int) -> object:
    """A product with a weight of three values."""
    return layer("bitnet", "PlyBitLinear", HIDDEN, WIDE)(halves(batch * length, HIDDEN))


def four_bits(batch: int, length: int) -> object:
    """A product with a weight of four bits."""
    return layer("fp4_experimental", "PlyFP4Linear", HIDDEN, WIDE)(halves(batch * length, HIDDEN))


def attention(batch: int, length: int) -> object:
    """Attention of all tokens."""
    return layer("flash_attn", "PlyFlashAttention")(*(halves(batch, HEADS, length, HEAD) for _ in range(3)))


def paged(batch: int, length: int) -> object:
    """One token of each sequence, over pages."""
    manager = layer("paged_attn", "PlyPagedAttentionManager", PAGES, PAGE, HEADS, HEAD)
    return manager(halves(batch, HEADS, HEAD), page_table(batch, length), counts(lengths(batch, length)))


def experts(batch: int, length: int) -> object:
    """An expert for each token."""
    chosen = torch.arange(batch * length, device=DEVICE) % EXPERTS
    return layer("moe", "PlyMoE", EXPERTS, HIDDEN, WIDE)(halves(batch * length, HIDDEN), chosen)


def norm(batch: int, length: int) -> object:
    """A norm."""
    return layer("rmsnorm", "PlyRMSNorm", HIDDEN)(halves(batch, length, HIDDEN))


def rotate(batch: int, length: int) -> object:
    """A rotation of each head."""
    return layer("rope", "PlyRoPE", HEAD)(*(halves(batch, length, HEADS, HEAD) for _ in range(2)))


def pool(batch: int, length: int) -> object:
    """The greatest of each window, with the height of an image for the length."""
    return layer("vision.pool", "PlyMaxPool2d", 2)(halves(batch, 8, length + 1, 32))


OPERATORS = {
    "linear": linear,
    "ternary": ternary,
    "four-bits": four_bits,
    "attention": attention,
    "paged": paged,
    "experts": experts,
    "norm": norm,
    "rotate": rotate,
    "pool": pool,
}

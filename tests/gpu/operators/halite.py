"""halite's losses, norm, rotation and experts."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, VOCABULARY, normal, plain

REPOSITORY = "rosinality/halite"
COMMIT = "e474c703b08627f6fdaee145ed333cf122c80aa6"
FOLDERS = ("src",)
BARE = (
    "halite",
    "halite.nn",
    "halite.transformers",
    "halite.transformers.ops",
    "halite.transformers.moe",
    "halite.transformers.moe.scattermoe",
)
EXPERTS, CHOSEN, WIDE = 8, 2, 128


def library(module: str) -> Any:
    """A module of the library."""
    return importlib.import_module(f"halite.{module}")


def cross_entropy(batch: int, length: int) -> object:
    """The loss of all tokens."""
    logits = normal(batch * length, VOCABULARY, dtype=torch.float32)
    target = torch.zeros(batch * length, device=DEVICE, dtype=torch.int64)
    return library("nn.cross_entropy").CrossEntropyFunction.apply(logits, target, None)[0]


def entropy(batch: int, length: int) -> object:
    """The entropy of all tokens."""
    return library("nn.entropy").entropy_from_logits(normal(batch, length, VOCABULARY, dtype=torch.float32))


def norm(batch: int, length: int) -> object:
    """A norm of all tokens."""
    return library("nn.normalization").fused_rms_norm_fn(normal(batch, length, HIDDEN), normal(HIDDEN))


def rotate(batch: int, length: int) -> object:
    """Queries rotated by their positions."""
    angles = [plain(length, HEAD // 2) for _ in range(2)]
    return library("transformers.ops.rotary").apply_rotary(plain(batch, length, HEADS, HEAD), *angles)


def experts(batch: int, length: int) -> object:
    """Tokens to two experts each."""
    ops = library("transformers.moe.scattermoe.ops")
    tokens = batch * length
    chosen = torch.arange(tokens * CHOSEN, device=DEVICE).view(tokens, CHOSEN) % EXPERTS
    ordered, order = torch.sort(chosen.flatten())
    ends = torch.full((EXPERTS,), tokens * CHOSEN // EXPERTS, device=DEVICE).cumsum(0)
    made = normal(tokens, HIDDEN), normal(EXPERTS, HIDDEN, WIDE), CHOSEN, ordered, order, ends
    hidden = ops.scattered_experts(*made, grouped_out=True)
    gates = plain(tokens, CHOSEN)
    made = hidden, normal(EXPERTS, WIDE, HIDDEN), 1, ordered, order, ends
    return ops.scattered_experts(*made, gates=gates, grouped_in=True)


OPERATORS = {"cross-entropy": cross_entropy, "entropy": entropy, "norm": norm, "rotate": rotate, "experts": experts}

"""torchembed's positions as rotations, in two layouts."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import HEAD, HEADS, normal, plain

REPOSITORY = "liodon-ai/torchembed"
COMMIT = "81a07f1e4f4f6f7b93af763c960e6e10611ce40d"


def call(name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("torchembed._triton"), name)(*arguments)


def angles(length: int, wide: int) -> list[torch.Tensor]:
    """Cosines and sines of all places."""
    return [plain(length, wide, dtype=torch.float32) for _ in range(2)]


def heads(batch: int, length: int) -> object:
    """Queries and keys, heads first, forward and backward."""
    made = normal(batch, HEADS, length, HEAD), normal(batch, HEADS, length, HEAD)
    return call("fused_rope_forward", *made, *angles(length, HEAD))[0]


def tokens(batch: int, length: int) -> object:
    """Queries, tokens first, forward and backward."""
    return call("fused_rope_bshd_apply", normal(batch, length, HEADS, HEAD), *angles(length, HEAD // 2))


OPERATORS = {"heads": heads, "tokens": tokens}

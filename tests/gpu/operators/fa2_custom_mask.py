"""flashattention2-custom-mask's attention with a mask, and without."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, normal

REPOSITORY = "alexzhang13/flashattention2-custom-mask"
COMMIT = "817091628883aab3d43c176218805fe16832aa04"
SHAPES = CHUNKS


def attend(batch: int, length: int, mask: torch.Tensor | None, scale: float = 0.125) -> Any:
    """Attention to all tokens that `mask` leaves."""
    made = [normal(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(3)]
    return importlib.import_module("fa2_custom_mask").flash_attention_custom_mask(*made, mask, scale)


def masked(batch: int, length: int) -> object:
    """A mask for each head, forward and backward."""
    mask = torch.ones(batch, HEADS, length, length, device=DEVICE, dtype=torch.int32).tril()
    return attend(batch, length, mask)


def shared(batch: int, length: int) -> object:
    """One mask for all heads, forward and backward."""
    mask = torch.ones(batch, 1, length, length, device=DEVICE, dtype=torch.int32).tril()
    return attend(batch, length, mask.expand(batch, HEADS, length, length))


def bare(batch: int, length: int) -> object:
    """No mask, forward and backward."""
    return attend(batch, length, None)


OPERATORS = {"masked": masked, "shared": shared, "bare": bare}

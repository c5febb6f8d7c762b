"""segment-anything-fast's attention with positions of rows and columns, of the windows and images of a batch."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import plain

REPOSITORY = "pytorch-labs/segment-anything-fast"
COMMIT = "e6aadeb86f3ae1f58c3f98e2a91e251716e0f2aa"
BARE = ("segment_anything_fast",)
HEADS, SIDE = 4, 64


def attend(batch: int, wide: int) -> object:
    """Attention of `batch` images of 64 rows and columns, as the model has them."""
    made = [plain(batch, HEADS, SIDE * SIDE, wide, dtype=torch.float16) for _ in range(3)]
    places = plain(batch, HEADS, SIDE * SIDE, 2 * SIDE, dtype=torch.float16)
    module = importlib.import_module("segment_anything_fast.flash_4")
    module._attention_rel_h_rel_w_kernel_aligned_device(*made, places, 0.125, torch.empty_like(made[0]), 128, 64, 4, 2)
    return None


def base(batch: int, _length: int) -> object:
    """Heads of the smaller models."""
    return attend(batch, 64)


def huge(batch: int, _length: int) -> object:
    """Heads of the largest model, padded."""
    return attend(batch, 128)


OPERATORS = {"base": base, "huge": huge}

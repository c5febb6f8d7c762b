"""Attention to all tokens and to those in tiles around, and positions in images, of dl_templates."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, normal, plain

REPOSITORY = "cicuvc/dl_templates"
COMMIT = "57bb610a35488f8fd73b4b7f3dbe38b1d8aa630c"
UNUSED = ("natten", "natten.na2d", "matplotlib", "pandas", "src.rope2d")
TALL, LARGE, SMALL, AROUND, KEY, PAIRS, ROWS, COLUMNS = 8, 16, 4, 1, 32, 8, 16, 1024
SHAPES_OF = {"causal": CHUNKS, "whole": CHUNKS}


def library(module: str) -> Any:
    """A module of the library, which makes its tensors on the default device."""
    torch.set_default_device(DEVICE)
    return importlib.import_module(f"src.{module}")


def heads(batch: int, length: int) -> list[torch.Tensor]:
    """Queries, keys and values."""
    return [normal(batch, HEADS, length, size, dtype=torch.float16) for size in (KEY, KEY, HEAD)]


def causal(batch: int, length: int) -> object:
    """Attention to the tokens before, forward and backward."""
    return library("flash_attn").attention(*heads(batch, length), True, 1.0)


def whole(batch: int, length: int) -> object:
    """Attention to all tokens, forward and backward."""
    return library("flash_attn").attention(*heads(batch, length), False, 1.0)


def tiles(batch: int, length: int) -> object:
    """Attention to large tiles around, of images of TALL rows and `length` columns of tiles, forward and backward."""
    made = heads(batch, TALL * length * LARGE)
    return library("tiled_swa").TiledSwa.apply(*made, LARGE, TALL, length, AROUND, AROUND, 0.25)


@torch.no_grad()
def small_tiles(batch: int, length: int) -> object:
    """Attention to small tiles around."""
    made = heads(batch, TALL * length * SMALL)
    return library("tiled_swa").TiledSwa.apply(*made, SMALL, TALL, length, AROUND, AROUND, 0.25)


def positions(batch: int, length: int) -> object:
    """Tokens turned by their places in images of TALL rows and `length` columns, forward and backward."""
    module = library("fused_rope2d")
    tokens = normal(batch * HEADS, TALL * length, HEAD, dtype=torch.float32)
    places = module.FusedInplaceRotaryPositionEncoding2D.encode_idx(TALL, length)
    angles = [plain(size, PAIRS, 2, dtype=torch.float32) for size in (ROWS, COLUMNS)]
    return module.RotaryPE2D.apply(tokens * 1, places, *angles)


OPERATORS = {
    "causal": causal,
    "whole": whole,
    "tiles": tiles,
    "small-tiles": small_tiles,
    "positions": positions,
}

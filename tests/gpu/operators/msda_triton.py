"""Attention to points of images in several sizes, of objects and of all pixels, of msda-triton."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, normal, plain

REPOSITORY = "rziga/msda-triton"
COMMIT = "90cda22eb5bb17db93ddfcc7feb3903d29acf6da"
FOLDERS = ("src",)
BARE = ("msda_triton",)
OBJECTS, LEVELS, POINTS, TALL = 300, 3, 4, 16


def attend(batch: int, length: int, queries: int | None, padding: str) -> object:
    """Attention of `queries`, or of all pixels, to images of TALL rows and `length` columns, forward and backward."""
    sizes = [[max(1, TALL >> level), -(-length >> level)] for level in range(LEVELS)]
    pixels = sum(rows * columns for rows, columns in sizes)
    image = normal(batch, pixels, HEADS, HEAD, dtype=torch.float32)
    asked = queries or pixels
    where = torch.sigmoid(plain(batch, asked, HEADS, LEVELS, POINTS, 2, dtype=torch.float32)).requires_grad_()
    share = normal(batch, asked, HEADS, LEVELS, POINTS, dtype=torch.float32)
    attention = importlib.import_module("msda_triton.frontend").triton_multiscale_deformable_attention
    return attention(image, torch.tensor(sizes, device=DEVICE), where, share, padding, padding == "border")


def objects(batch: int, length: int) -> object:
    """Of objects."""
    return attend(batch, length, OBJECTS, "border")


def pixels(batch: int, length: int) -> object:
    """Of all pixels."""
    return attend(batch, length, None, "zeros")


OPERATORS = {"objects": objects, "pixels": pixels}

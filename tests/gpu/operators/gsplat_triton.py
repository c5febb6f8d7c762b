"""Gaussians in space projected, coloured and drawn, of gsplat-triton."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import ANY, DEVICE, normal, plain

REPOSITORY = "hieu1999210/gsplat-triton"
COMMIT = "46beece9c8e0bd8a142abbaeae50f595399c60bf"
BARE = ("gsplat",)
UNUSED = ("jaxtyping",)
COLORS, DEGREE, TILE, WIDTH, HEIGHT = 3, 3, 16, 96, 64
# Of `batch` cameras and `length` Gaussians, of which one alone has no place in a tile.
SHAPES = ANY[1:]


def call(name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("gsplat.triton_impl._wrapper"), name)(*arguments, **more)


def whole(*shape: int) -> torch.Tensor:
    """A tensor of 32 bits that wants its gradient."""
    return normal(*shape, dtype=torch.float32)


def project(batch: int, length: int) -> object:
    """Gaussians as cameras see them, forward and backward."""
    views = torch.eye(4, device=DEVICE).repeat(batch, 1, 1)
    lenses = torch.eye(3, device=DEVICE).repeat(batch, 1, 1)
    made = whole(length, 3), None, whole(length, 4), whole(length, 3), views, lenses, WIDTH, HEIGHT
    return call("fully_fused_projection", *made)[1]


def color(batch: int, length: int) -> object:
    """Colours from where cameras are, forward and backward."""
    harmonics = whole(batch, length, (DEGREE + 1) ** 2, COLORS)
    return call("spherical_harmonics", DEGREE, whole(batch, length, 3), harmonics)


def offsets(batch: int, length: int) -> object:
    """Where the Gaussians of each tile begin."""
    seen = torch.zeros(batch * length, device=DEVICE, dtype=torch.int64)
    return call("isect_offset_encode", seen, batch, WIDTH // TILE, HEIGHT // TILE)


def draw(batch: int, length: int) -> object:
    """Images of Gaussians, forward and backward."""
    made = whole(batch, length, 2), whole(batch, length, 3), whole(batch, length, COLORS), whole(batch, length)
    begins = torch.zeros(batch, HEIGHT // TILE, WIDTH // TILE, device=DEVICE, dtype=torch.int32)
    order = torch.arange(batch * length, device=DEVICE, dtype=torch.int32)
    behind = plain(batch, COLORS, dtype=torch.float32)
    return call("rasterize_to_pixels", *made, WIDTH, HEIGHT, TILE, begins, order, backgrounds=behind)


OPERATORS = {"project": project, "color": color, "offsets": offsets, "draw": draw}

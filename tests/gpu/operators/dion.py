"""Dion's orthogonal updates: the steps of Newton and Schulz."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, plain

REPOSITORY = "microsoft/dion"
COMMIT = "0a059a4542e5aa74b40dcd1dce363836c7afcd48"
BARE = ("dion",)
STACKED = 4
SIZES = ((512, 512), (1024, 512), (512, 2048))


def orthogonal(batch: int, length: int) -> object:
    """The updates of a model's weights, at every step; some of one size are stacked."""
    library = importlib.import_module("dion.newton_schulz_triton")
    for size in SIZES:
        library.newton_schulz_triton(plain(*size))
    return library.newton_schulz_triton_fast(plain(STACKED, *SIZES[0]))


def apply(batch: int, length: int) -> object:
    """Update the chosen rows of a model's weights."""
    library = importlib.import_module("dion.dion2_triton")
    weights = [plain(*size, dtype=torch.float32) for size in SIZES]
    chosen = [torch.arange(size[0] // 4, device=DEVICE) for size in SIZES]
    updates = [plain(size[0] // 4, size[1]) for size in SIZES]
    rates = [torch.tensor(0.01, device=DEVICE) for _ in range(3)]
    return library.dion2_post_orthogonalize_triton(weights, updates, chosen, *rates, -2)


OPERATORS = {"orthogonal": orthogonal, "apply": apply}

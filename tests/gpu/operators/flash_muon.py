"""flash-muon's product of a matrix with itself."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import plain

REPOSITORY = "nil0x9/flash-muon"
COMMIT = "80ac87fb49afc792b84eccb393d051b1ed8eee32"
BARE = ("flash_muon",)
SIZES = ((512, 512), (1024, 512), (512, 2048))


def products(batch: int, length: int) -> object:
    """The products of a model's gradients, at every step."""
    library = importlib.import_module("flash_muon.matmul_transpose_triton")
    return [library.matmul_transpose(plain(*size, dtype=torch.bfloat16)) for size in SIZES]


OPERATORS = {"products": products}

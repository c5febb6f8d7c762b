"""A gated layer with its gate fused, in two types."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import HIDDEN, normal

REPOSITORY = "fattorib/fusedswiglu"
COMMIT = "a47bd091eb2f44ce7d3a2cf9b6fb78b2469f5301"
BARE = ("fused_swiglu",)
WIDE = 1024
SHAPES = ((1, 16), (2, 33), (3, 100), (4, 256), (1, 777), (2, 1024))


def half(batch: int, length: int) -> object:
    """With sums in half precision, forward and backward."""
    made = (normal(*shape, dtype=torch.float16) for shape in ((batch, length, HIDDEN), (HIDDEN, WIDE), (HIDDEN, WIDE)))
    return importlib.import_module("fused_swiglu.swiglu_f16").FastAccumFusedSwiGLU.apply(*made)


def wide(batch: int, length: int) -> object:
    """In bfloat16, forward and backward."""
    made = normal(batch, length, HIDDEN), normal(HIDDEN, WIDE), normal(HIDDEN, WIDE)
    return importlib.import_module("fused_swiglu.swiglu").FusedSwiGLU.apply(*made)


OPERATORS = {"wide": wide, "half": half}

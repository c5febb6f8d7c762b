"""A layer and a convolution of sequences, of CODEJIN's Triton kernels for speech."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, normal, plain

REPOSITORY = "CODEJIN/Triton-Kernel"
COMMIT = "b1ec4d8bf01b4029b73ce1efb3d6e7c84b980bae"
UNUSED = ("triton.ops",)
WIDE, CHANNELS, TAPS = 1024, 64, 3
# A sequence is at least as long as what is moved along it.
CONVOLVED = ((2, 16), (3, 33), (5, 100), (6, 127), (7, 200), (1, 300), (2, 512), (4, 777))
SHAPES_OF = {"convolution": CONVOLVED, "unfolded": CONVOLVED}


def linear(batch: int, length: int) -> object:
    """A layer, forward and backward."""
    layer = importlib.import_module("Linear").linear_without_bias
    return layer(normal(batch * length, HIDDEN, dtype=torch.float16), normal(HIDDEN, WIDE, dtype=torch.float16))


def offset(batch: int, length: int) -> object:
    """A layer with an offset, forward and backward."""
    layer = importlib.import_module("Linear").Linear(HIDDEN, WIDE).to(DEVICE, torch.float16)
    return layer(normal(batch * length, HIDDEN, dtype=torch.float16))


def convolved(name: str, batch: int, length: int) -> object:
    """A convolution of sequences in one of two ways."""
    made = plain(batch, CHANNELS, length, dtype=torch.float16), plain(2 * CHANNELS, CHANNELS, TAPS, dtype=torch.float16)
    return getattr(importlib.import_module("Conv1d"), name)(*made)


def convolution(batch: int, length: int) -> object:
    """A convolution."""
    return convolved("conv1d_without_bias", batch, length)


def unfolded(batch: int, length: int) -> object:
    """A convolution as a product."""
    return convolved("conv1d_unfold_without_bias", batch, length)


OPERATORS = {"linear": linear, "offset": offset, "convolution": convolution, "unfolded": unfolded}

"""Quartet II's layer of four bits, forward and backward, and its ways to four bits."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, normal, plain

REPOSITORY = "IST-DASLab/Quartet-II"
COMMIT = "8776a90b7aa0c0a400ad858a3c05a66f7ec55b73"
FOLDERS = ("src",)
BARE = ("models", "models.quantization", "models.quantization.schemes", "models.quantization.quantizers")
UNUSED = ("scipy", "scipy.linalg")
WIDE, TURNED, GROUP = 1024, 32, 16
# The backward pass takes whole groups of tokens alone.
SHAPES_OF = {"layer": ((1, 32), (2, 64), (3, 96), (4, 256), (5, 512), (2, 800))}


def quantization(module: str) -> Any:
    """A module of the library."""
    return importlib.import_module(f"models.quantization.{module}")


def turn() -> torch.Tensor:
    """A matrix that turns features."""
    return torch.eye(TURNED, device=DEVICE)


def layer(batch: int, length: int) -> object:
    """A layer, forward and backward."""
    scheme = quantization("schemes.quartet_2")
    scheme.Quartet_II_fn.hadamard_matrix = turn()
    made = scheme.Quartet_II_Linear(HIDDEN, WIDE, bias=False, device=DEVICE, dtype=torch.bfloat16)
    return made(normal(batch, length, HIDDEN))


def mixed(batch: int, length: int) -> object:
    """Tokens to four bits with a scale that is a power of two."""
    module = quantization("quantizers.mxfp4_triton")
    tokens = plain(batch, length, HIDDEN)
    module.mxfp4_forward_kernel_wrapper(tokens, turn().to(torch.bfloat16), return_clip_mask=True)
    more = {"stochastic_round": True, "quest": False}
    return module.mxfp4_forward_kernel_wrapper(tokens, turn().to(torch.bfloat16), **more)


def nearest(batch: int, length: int) -> object:
    """Tokens to the nearest numbers of four bits."""
    made = plain(batch, length, HIDDEN), 1.0, GROUP, True
    return quantization("quantizers.nvfp4_triton").rtn_1x16s_fp4_kernel_wrapper(*made)


def chance(batch: int, length: int) -> object:
    """Tokens to numbers of four bits by chance."""
    made = plain(batch, length, HIDDEN), 1.0, GROUP, False
    return quantization("quantizers.nvfp4_triton").sr_1x16s_fp4_kernel_wrapper(*made)


def unbiased(batch: int, length: int) -> object:
    """Tokens to numbers of four bits whose mean is right."""
    made = plain(batch, length, HIDDEN), 1.0, TURNED, GROUP, False
    return quantization("quantizers.nvfp4_triton").eden_1x16s_fp4_kernel_wrapper(*made)


def weights(_batch: int, _length: int) -> object:
    """Weights to four bits in squares."""
    made = plain(WIDE, HIDDEN), 1.0, GROUP, False
    return quantization("quantizers.nvfp4_triton").rtn_16x16s_fp4_kernel_wrapper(*made)


OPERATORS = {
    "layer": layer,
    "mixed": mixed,
    "nearest": nearest,
    "chance": chance,
    "unbiased": unbiased,
    "weights": weights,
}

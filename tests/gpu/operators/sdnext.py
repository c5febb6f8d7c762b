"""SD.Next's products of few bits, and its images made smaller."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

REPOSITORY = "vladmandic/sdnext"
COMMIT = "058a7f0cf326f39c0135c6257d7b7e61073e51fd"
BARE = ("modules", "modules.sdnq")
WIDE, SMALL = 1024, (256, 256)
# Of images: how many times 64 columns there are more than rows, and the rows. The library takes not all sizes.
IMAGES = ((0, 300), (1, 300), (4, 480), (2, 600), (1, 1000), (3, 1000), (0, 1500), (4, 1500))


def whole(*shape: int) -> torch.Tensor:
    """Numbers of eight bits."""
    return torch.randint(-127, 127, shape, device=DEVICE, dtype=torch.int8)


def multiply(batch: int, length: int) -> object:
    """Tokens of eight bits times a weight, as it lies and the other way around."""
    product = importlib.import_module("modules.sdnq.kernels.triton_mm").sdnq_triton_mm
    product(whole(batch * length, HIDDEN), whole(HIDDEN, WIDE))
    return product(whole(batch * length, HIDDEN), whole(WIDE, HIDDEN).t())


def multiply_biased(batch: int, length: int) -> object:
    """Tokens of 16 bits times a weight, and a bias."""
    product = importlib.import_module("modules.sdnq.kernels.triton_mm").sdnq_triton_mm
    made = plain(batch * length, HIDDEN), plain(WIDE, HIDDEN).t(), plain(WIDE)
    return product(*made, torch.bfloat16)


def multiply_scaled(batch: int, length: int) -> object:
    """Tokens of eight bits times a weight, and their scales, without and with a bias."""
    product = importlib.import_module("modules.sdnq.kernels.triton_scaled_mm").sdnq_scaled_mm
    rows, columns = plain(batch * length, 1, dtype=torch.float32), plain(1, WIDE, dtype=torch.float32)
    made = whole(batch * length, HIDDEN), whole(WIDE, HIDDEN).t(), rows, columns
    product(*made, out_dtype=torch.bfloat16)
    return product(*made, plain(WIDE), torch.bfloat16)


def shrink(wider: int, length: int, name: str) -> object:
    """An image made smaller."""
    image = torch.rand(3, length, length + 64 * wider, device=DEVICE, dtype=torch.float16)
    return getattr(importlib.import_module("modules.sharpfin.triton_functional"), name)(image, SMALL)


OPERATORS = {
    "multiply": multiply,
    "multiply_biased": multiply_biased,
    "multiply_scaled": multiply_scaled,
    "shrink": lambda wider, length: shrink(wider, length, "downscale_triton"),
    "shrink_sparse": lambda wider, length: shrink(wider, length, "downscale_sparse"),
    "shrink_columns": lambda wider, length: shrink(wider, length, "downscale_sbsc"),
    "shrink_made": lambda wider, length: shrink(wider, length, "downscale_sbsc_zerorhs"),
}
SHAPES_OF = dict.fromkeys([name for name in OPERATORS if name.startswith("shrink")], IMAGES)

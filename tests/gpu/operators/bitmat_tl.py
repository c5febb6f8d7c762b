"""bitmat-tl's product with ternary weights; its norm needs bitsandbytes."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HIDDEN

PACKAGE = Package("bitmat-tl", "0.3.7")
BARE = ("bitmat", "bitmat.triton_kernels")
WIDE, PER_BYTE = 256, 4


def product(batch: int, length: int) -> object:
    """All tokens against a packed weight."""
    tokens = torch.randint(-8, 8, (batch, length, HIDDEN), device=DEVICE, dtype=torch.int8)
    weight = torch.randint(-8, 8, (HIDDEN // PER_BYTE, WIDE), device=DEVICE, dtype=torch.int8)
    return importlib.import_module("bitmat.triton_kernels.bitmat_kernel").bitmat_(tokens, weight, PER_BYTE)


OPERATORS = {"product": product}

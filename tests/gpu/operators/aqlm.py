"""AQLM's product with a weight of codebooks."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

PACKAGE = Package("aqlm", "1.1.7")
WIDE, GROUP, CODEBOOKS = 256, 8, 2


def product(batch: int, length: int) -> object:
    """A row for each token."""
    codes = torch.randint(0, 255, (WIDE, HIDDEN // GROUP, CODEBOOKS), device=DEVICE, dtype=torch.int16)
    made = [plain(batch, length, HIDDEN, dtype=torch.float16), codes]
    made += [plain(CODEBOOKS, 256, 1, GROUP, dtype=torch.float16), plain(WIDE, 1, 1, 1, dtype=torch.float16)]
    function = importlib.import_module("aqlm.inference_kernels.triton_kernel").triton_matmul
    return function(*made, plain(WIDE, dtype=torch.float16))


OPERATORS = {"product": product}

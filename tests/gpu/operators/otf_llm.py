"""otf-llm's product with weights of four bits."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

PACKAGE = Package("otf-llm", "4.1.0")
BARE = ("otf_llm",)
WIDE, GROUP = 256, 64


def linear(batch: int, length: int) -> object:
    """All tokens against a weight of four bits."""
    codes = torch.randint(0, 255, (WIDE, HIDDEN // 2), device=DEVICE, dtype=torch.uint8)
    scales = plain(WIDE, HIDDEN // GROUP, dtype=torch.float16)
    tokens = plain(batch, length, HIDDEN, dtype=torch.float16)
    return importlib.import_module("otf_llm.otf_triton_kernel").triton_fused_int4_linear(tokens, codes, scales, GROUP)


OPERATORS = {"linear": linear}

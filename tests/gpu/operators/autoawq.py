"""AutoAWQ's products with weights of four bits."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "casper-hansen/AutoAWQ"
COMMIT = "88e4c76b20755db275574e6a03c83c84ba3bece5"
BARE = ("awq", "awq.modules", "awq.modules.triton")
GROUP = 128


def weights() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Packed weights, their scales and their zeros."""
    packed = torch.ones(HIDDEN, HIDDEN // 8, device=DEVICE, dtype=torch.int32)
    zeros = torch.ones(HIDDEN // GROUP, HIDDEN // 8, device=DEVICE, dtype=torch.int32)
    return packed, plain(HIDDEN // GROUP, HIDDEN, dtype=torch.float16), zeros


def product(*, split: int) -> Callable[[int, int], object]:
    """A product, its inner axis split."""

    def call(batch: int, length: int) -> object:
        rows = plain(batch * length, HIDDEN, dtype=torch.float16)
        return importlib.import_module("awq.modules.triton.gemm").awq_gemm_triton(rows, *weights(), split)

    return call


def unpack(batch: int, length: int) -> object:
    """The weights in sixteen bits."""
    return importlib.import_module("awq.modules.triton.gemm").awq_dequantize_triton(*weights())


OPERATORS = {"product": product(split=1), "product-split": product(split=8), "unpack": unpack}

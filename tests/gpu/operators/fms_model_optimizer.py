"""fms-model-optimizer's products that imitate other hardware."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("fms-model-optimizer", "0.8.7")
BARE = ("fms_mo", "fms_mo.custom_ext_kernels")
WIDE = 256


def product(*, whole: bool) -> Callable[[int, int], object]:
    """All tokens against a weight, floats or whole numbers, the sums cut short."""

    def run(batch: int, length: int) -> object:
        made = plain(batch * length, HIDDEN, dtype=torch.float16), plain(HIDDEN, WIDE, dtype=torch.float16)
        if whole:
            made = (
                torch.randint(-8, 8, (batch * length, HIDDEN), device=DEVICE, dtype=torch.int8),
                torch.randint(-8, 8, (HIDDEN, WIDE), device=DEVICE, dtype=torch.int8),
            )
        module = importlib.import_module("fms_mo.custom_ext_kernels.triton_kernels")
        return module.tl_matmul_chunk_truncate(*made, chunk_trun_bits=8, chunk_size=64)

    return run


OPERATORS = {"floats": product(whole=False), "whole-numbers": product(whole=True)}

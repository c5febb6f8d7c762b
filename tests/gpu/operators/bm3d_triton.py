"""bm3d-triton's removal of noise from images, with their height for the length."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("bm3d-triton", "0.1.1")


def denoise(*, twice: bool) -> Callable[[int, int], object]:
    """One step or two."""

    def call(batch: int, length: int) -> object:
        images = torch.rand(batch, 1, length + 16, 64, device=DEVICE)
        return importlib.import_module("bm3d_triton.api").denoise(images, two_step=twice)

    return call


OPERATORS = {"once": denoise(twice=False), "twice": denoise(twice=True)}

"""Selective scans of mamba-triton, all tokens at once and token after token."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import normal

REPOSITORY = "sustcsonglin/mamba-triton"
COMMIT = "b8f3ce13652042347bbdae02a69b6fc208ce90cc"
FEATURES, STATES = 256, 16
# All tokens at once are a power of two.
SHAPES_OF = {"parallel": ((1, 16), (2, 32), (3, 64), (6, 128), (7, 256), (2, 512), (4, 1024))}


def scanned(batch: int, length: int) -> list[torch.Tensor]:
    """Tokens, their steps, how states decay, what goes into and out of them, and what goes past."""
    shapes: tuple[tuple[int, ...], ...] = (
        (batch, length, FEATURES),
        (batch, length, FEATURES),
        (FEATURES, STATES),
        (batch, length, STATES),
        (batch, length, STATES),
        (FEATURES,),
    )
    return [normal(*shape, dtype=torch.float32) for shape in shapes]


def parallel(batch: int, length: int) -> object:
    """All tokens at once, forward and backward."""
    return importlib.import_module("triton_parallel_scan").triton_selective_scan(*scanned(batch, length))


def sequential(batch: int, length: int) -> object:
    """Token after token, forward and backward."""
    module = importlib.import_module("triton_sequential_scan")
    return module.triton_selective_scan_sequential(*scanned(batch, length))


OPERATORS = {"parallel": parallel, "sequential": sequential}

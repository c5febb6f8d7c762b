"""gru_qat's recurrent layers, whose weights are dense, diagonal or of a structure, also of rounded states."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import normal

REPOSITORY = "LarocheC/gru-triton"
COMMIT = "acd847835948b2e89dbca76acd941c1d78b36516"
FOLDERS = ("src",)
BARE = ("gru_qat",)
HIDDEN, LEVELS, BLOCKS, GATES = 64, 6, 4, 3
ROUNDED = (0.1, -128, 127)


def scan(module: str, name: str, batch: int, length: int, *weights: int, **more: object) -> Any:
    """All tokens of `batch` sequences with weights of that shape, forward and backward."""
    whole = {"dtype": torch.float32}
    made = normal(length, batch, GATES * HIDDEN, **whole), normal(batch, HIDDEN, **whole)
    held = normal(*weights, **whole), normal(GATES * HIDDEN, **whole)
    return getattr(importlib.import_module(f"gru_qat.triton_kernels.{module}"), name)(*made, *held, **more)


def dense(batch: int, length: int) -> object:
    """Dense weights."""
    return scan("scan", "gru_scan", batch, length, GATES * HIDDEN, HIDDEN)


def persistent(batch: int, length: int) -> object:
    """Dense weights in kernels that wait for each other."""
    return scan("scan", "gru_scan_persistent", batch, length, GATES * HIDDEN, HIDDEN)


def rounded(batch: int, length: int) -> object:
    """Dense weights and states of a few bits."""
    more = {"h_in_quant": ROUNDED, "h_out_quant": ROUNDED}
    return scan("scan", "gru_scan", batch, length, GATES * HIDDEN, HIDDEN, **more)


def diagonal(batch: int, length: int) -> object:
    """One weight for each feature."""
    return scan("scan_diagonal", "gru_scan_diagonal", batch, length, GATES, HIDDEN)


def blocks(batch: int, length: int) -> object:
    """Weights in blocks whose order is mixed."""
    wide = HIDDEN // BLOCKS
    return scan("scan_monarch", "gru_scan_monarch", batch, length, GATES, BLOCKS, wide, wide)


def butterfly(batch: int, length: int) -> object:
    """Weights of pairs of features."""
    shape = GATES, 1, LEVELS, HIDDEN // 2, 2, 2
    return scan("scan_butterfly", "gru_scan_butterfly_triton", batch, length, *shape)


OPERATORS = {
    "dense": dense,
    "persistent": persistent,
    "rounded": rounded,
    "diagonal": diagonal,
    "blocks": blocks,
    "butterfly": butterfly,
}

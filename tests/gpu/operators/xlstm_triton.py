"""The mLSTM by products and by scans, of a Triton implementation of xLSTM."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import CHUNKS, HEAD, HEADS, normal, plain

REPOSITORY = "LukasBluebaum/xLSTM-Triton-Implementation"
COMMIT = "405d605615ebb1de287c90b5280894dc982b78a8"
# Scans take as many blocks as a power of two.
SHAPES_OF = {
    "products": ((1, 16), (2, 64), *CHUNKS),
    "scans": ((1, 16), (2, 64), (3, 128), (5, 256), (6, 512), (2, 1024), (1, 2048)),
}


def products(batch: int, length: int) -> object:
    """By products, forward and backward."""
    made = [normal(batch, HEADS, length, HEAD, dtype=torch.float32) for _ in range(3)]
    gates = [normal(batch, HEADS, length, dtype=torch.float32) for _ in range(2)]
    return importlib.import_module("mlstm_matmul").Triton_mLSTM.apply(*made, *gates) * plain(HEAD, dtype=torch.float32)


def scans(batch: int, length: int) -> object:
    """By scans."""
    made = [plain(batch, HEADS, length, HEAD, dtype=torch.float32) for _ in range(3)]
    gates = [plain(batch, HEADS, length, dtype=torch.float32) for _ in range(2)]
    last = plain(batch, HEADS, length, HEAD, dtype=torch.float32)
    return importlib.import_module("mlstm_scan").mlstm_scan(*made, *gates, last)


OPERATORS = {"products": products, "scans": scans}

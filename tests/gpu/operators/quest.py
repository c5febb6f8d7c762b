"""QuEST's weights and activations in four bits, around a product in CUDA."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

REPOSITORY = "IST-DASLab/QuEST"
COMMIT = "c295afda142c03a89d2af04653881beccf459aa1"
FOLDERS = ("gemm-quest/benchmarks",)
UNUSED = ("fast_hadamard_transform", "quest")
WIDE = 1024


def call(name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("utils"), name)(*arguments, **more)


def linear(batch: int, length: int) -> object:
    """A layer: weights once, and all tokens."""
    tokens = batch * length
    packed, scale, added, _ = call("preprocess_weight", plain(WIDE, HIDDEN))
    call("linear_forward", plain(tokens, HIDDEN), packed, scale, added)
    rows = torch.zeros(tokens, 1, device=DEVICE, dtype=torch.int32)
    product = torch.zeros(tokens, WIDE, device=DEVICE, dtype=torch.int32)
    return call("add_mul_vv", rows, plain(tokens, 1), added, scale, product)


OPERATORS = {"linear": linear}

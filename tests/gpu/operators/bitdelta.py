"""BitDelta's products with weights of one bit."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

REPOSITORY = "FasterDecoding/BitDelta"
COMMIT = "ecbee1e28f6b02444d535e0a165b48cba3fe217a"
WIDE = 1024


def call(name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("bitdelta.binary_gemm_kernel"), name)(*arguments)


def layer(batch: int, length: int) -> object:
    """All tokens by one delta."""
    delta = torch.zeros(HIDDEN // 32, WIDE, device=DEVICE, dtype=torch.int32)
    return call("binary_matmul", plain(batch * length, HIDDEN, dtype=torch.float16), delta)


def tenants(batch: int, length: int) -> object:
    """Each sequence by a delta of its own."""
    deltas = torch.zeros(batch, HIDDEN // 32, WIDE, device=DEVICE, dtype=torch.int32)
    return call("binary_bmm", plain(batch, length, HIDDEN, dtype=torch.float16), deltas)


OPERATORS = {"layer": layer, "tenants": tenants}

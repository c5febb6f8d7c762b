"""wind_rwkv's RWKV-7 for large heads."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import CHUNKS, HEAD, HEADS, normal

REPOSITORY = "johanwind/wind_rwkv"
COMMIT = "d1d85d9d0d014a2af54caf6c324a5131a10e5b7e"
BARE = ("wind_rwkv", "wind_rwkv.rwkv7")
SHAPES = CHUNKS


def run(batch: int, length: int) -> object:
    """A sequence of whole chunks, forward and backward."""
    library = importlib.import_module("wind_rwkv.rwkv7.triton_bighead")
    made = [normal(batch, length, HEADS, HEAD, dtype=torch.bfloat16) for _ in range(6)]
    return library.attn_triton_bighead_bf16(*made)[0]


OPERATORS = {"run": run}

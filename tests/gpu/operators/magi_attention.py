"""MagiAttention's rows of ranges: filled, gathered and added up."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEADS, plain

REPOSITORY = "SandAI-org/MagiAttention"
COMMIT = "2c6413571c2cac6a80d1f85a434c6713fe0f5286"
BARE = ("magi_attention", "magi_attention.common")
UNUSED = ("debugpy",)
HEAD = 64


def call(name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("magi_attention.common.range_op"), name)(*arguments, **more)


def ranges(batch: int, length: int) -> torch.Tensor:
    """The rows of each sequence but the last."""
    first = torch.arange(batch, device=DEVICE, dtype=torch.int64) * length
    return torch.stack([first, first + max(1, length - 1)], dim=1)


def fill(batch: int, length: int) -> object:
    """Rows set to nothing."""
    return call("range_fill_", plain(batch * length, HEADS, HEAD), ranges(batch, length), 0.0)


def gather(batch: int, length: int) -> object:
    """Rows put one after another."""
    return call("range_gather", plain(batch * length, HEADS, HEAD), ranges(batch, length))


def add(batch: int, length: int) -> object:
    """Rows added up, one after another or with weights."""
    rows, chosen = plain(batch * length, HEADS, HEAD), ranges(batch, length)
    call("range_reduce", rows, plain(batch * length, HEADS, HEAD), chosen, chosen)
    call("range_reduce", rows, plain(batch * length, HEADS, HEAD), chosen, chosen, deterministic=True)
    sums = [plain(batch * length, HEADS, dtype=torch.float32) for _ in range(2)]
    more = {"reduce_op": "lse", "input_lse": sums[0], "output_lse": sums[1]}
    return call("range_reduce", rows, plain(batch * length, HEADS, HEAD), chosen, chosen, **more)


OPERATORS = {"fill": fill, "gather": gather, "add": add}

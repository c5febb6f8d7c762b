"""Hydragen's attention to a prefix that sequences share."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import HEAD, HEADS, plain

REPOSITORY = "ScalingIntelligence/hydragen"
COMMIT = "1ea2255db0778f5cf47a4f72a535dc77a8b6b7bd"
UNUSED = ("flash_attn", "flash_attn.flash_attn_interface")


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"hydragen.{module}"), name)(*arguments)


def combine(batch: int, length: int) -> object:
    """Two attentions of `length` tokens into one."""
    outputs = [plain(batch, length, HEADS, HEAD, dtype=torch.float16) for _ in range(2)]
    sums = [plain(batch, length, HEADS, dtype=torch.float32) for _ in range(2)]
    return call("attention", "combine_lse_triton", outputs[0], sums[0], outputs[1], sums[1])


OPERATORS = {"combine": combine}

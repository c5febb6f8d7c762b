"""Fasten's products of tokens with the weights of their types, forward and backward."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import DEVICE

if TYPE_CHECKING:
    from types import ModuleType

REPOSITORY = "Deep-Learning-Profiling-Tools/fasten"
COMMIT = "784bd907aa3685770fb14608fbbd620e21261937"
TYPES, WIDTH, NARROW = 8, 64, 32


def rows(tokens: int) -> list[int]:
    """How many tokens there are of each type."""
    return [max(1, tokens // TYPES - 3 * i) for i in range(TYPES)]


def sliced(module: ModuleType, batch: int, length: int, width: int) -> object:
    """Tokens in the order of their types."""
    many = rows(batch * length)
    types = torch.repeat_interleave(torch.arange(TYPES), torch.tensor(many)).to(torch.int)
    data = torch.randn(sum(many), width, device=DEVICE, requires_grad=True)
    return module.compact_tensor_types(data, types, is_sorted=True, device=DEVICE)


def multiply(batch: int, length: int, width: int, *, same: bool = False) -> object:
    """Each token times the weight of its type; sums are taken in the `same` order each time, where wanted."""
    module = importlib.import_module("fasten")
    settings = importlib.import_module("fasten.utils").GlobalConfig
    settings.with_autotune, settings.deterministic = False, same
    made = sliced(module, batch, length, width)
    weights = torch.randn(TYPES, width, width, device=DEVICE, requires_grad=True)
    return module.ops.fasten_segment_matmul(made.data, weights, made, module.Engine.TRITON)


OPERATORS = {
    "multiply": lambda batch, length: multiply(batch, length, WIDTH),
    "multiply_narrow": lambda batch, length: multiply(batch, length, NARROW),
    "multiply_again": lambda batch, length: multiply(batch, length, WIDTH, same=True),
}

"""Protenix' attention over the rows of pairs: the length is the number of residues."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import normal, plain

PACKAGE = Package("protenix", "2.0.0")
BARE = ("protenix", "protenix.model", "protenix.model.modules")
SHAPES = ((1, 32), (2, 48), (3, 33), (1, 100), (2, 127), (1, 200), (1, 177), (2, 161))
HEADS, HEAD, WIDE = 4, 32, 128


def attention(batch: int, length: int) -> object:
    """Each row's attention, with a mask and a bias."""
    made: list[Any] = [normal(batch, length, length, HEADS, HEAD) for _ in range(3)]
    made += [plain(batch, length, 1, 1, length), normal(batch, 1, HEADS, length, length)]
    return importlib.import_module("protenix.model.tri_attention.op").TriAttention()(*made)


def dropped(batch: int, length: int) -> object:
    """A sum with what is left after dropping whole rows."""
    made = [plain(batch, length, length, WIDE, dtype=torch.float32) for _ in range(2)]
    return importlib.import_module("protenix.model.modules.fused_ops").dropout_add_rowwise(*made, 0.25, True)


OPERATORS = {"attention": attention, "dropped": dropped}

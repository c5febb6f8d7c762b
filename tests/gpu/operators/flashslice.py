"""flashslice's physics attention: points to slices and back."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, normal

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("flashslice", "0.3.0")


def attention(*, slices: int, head: int, untied: bool = False) -> Callable[[int, int], object]:
    """The layer, over a cloud of `length` points."""

    def call(batch: int, length: int) -> object:
        layers = importlib.import_module("flashslice.layers.physics_attention")
        options = {"slice_num": slices, "use_fused_slice": True, "untied_deslice": untied}
        layer = layers.Physics_Attention_Irregular_Mesh(HIDDEN, HEADS, head, **options).to(DEVICE)
        return layer(normal(batch, length, HIDDEN, dtype=torch.float32))[0]

    return call


OPERATORS = {
    "one-tile": attention(slices=64, head=HEAD),
    "untied": attention(slices=64, head=HEAD, untied=True),
    "blocked": attention(slices=200, head=HEAD),
    "blocked-untied": attention(slices=200, head=HEAD, untied=True),
    "blocked-wide": attention(slices=64, head=96),
}

"""saga-activation's gate over feature maps."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import ANY, DEVICE, normal

PACKAGE = Package("saga-activation", "0.2.0")
BARE = ("saga",)
CHANNELS = 8
SHAPES = ((2, 1), *ANY[1:])


def gate(batch: int, length: int) -> object:
    """Square feature maps, `length` pixels high."""
    maps = normal(batch, CHANNELS, length, length, dtype=torch.float32)
    return importlib.import_module("saga.activation").SAGA(CHANNELS).to(DEVICE)(maps)


OPERATORS = {"gate": gate}

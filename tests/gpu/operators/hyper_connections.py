"""hyper-connections' doubly stochastic mixing of a token's residual streams."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import normal

PACKAGE = Package("hyper-connections", "0.4.11")
BARE = ("hyper_connections",)
STREAMS = 4


def mix(batch: int, length: int) -> object:
    """A matrix of the streams for each token."""
    scores = normal(batch, length, STREAMS, STREAMS, dtype=torch.float32)
    return importlib.import_module("hyper_connections.triton_sinkhorn").TritonSinkhornFunction.apply(scores, 20)


OPERATORS = {"mix": mix}

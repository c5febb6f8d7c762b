"""OpenGDN's gated delta rule."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEADS, normal

PACKAGE = Package("opengdn", "0.1.0")
SHAPES = CHUNKS
HEAD = 128


def gated_delta(batch: int, length: int) -> object:
    """The whole rule, forward and backward."""
    made = [normal(batch, length, HEADS, HEAD) for _ in range(3)]
    gates = [torch.rand(batch, length, HEADS, device=DEVICE, dtype=torch.bfloat16).requires_grad_() for _ in range(2)]
    return importlib.import_module("opengdn.triton").gated_delta_triton(*made, *gates)


def without_gradient(batch: int, length: int) -> object:
    """Forward alone."""
    with torch.no_grad():
        return gated_delta(batch, length)


OPERATORS = {"gated-delta": gated_delta, "without-gradient": without_gradient}

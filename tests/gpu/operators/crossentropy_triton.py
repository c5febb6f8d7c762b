"""crossentropy-triton's cross entropy."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import ANY, DEVICE, VOCABULARY, normal

PACKAGE = Package("crossentropy-triton", "0.1.2")
SHAPES = ANY[1:]


def cross_entropy(batch: int, length: int) -> object:
    """Of each token but the first."""
    labels = torch.randint(0, VOCABULARY, (batch, length), device=DEVICE)
    logits = normal(batch, length, VOCABULARY, dtype=torch.float32)
    return importlib.import_module("crossentropy_triton.crossentropy_tl").CrossEntropyFunction.apply(logits, labels)


OPERATORS = {"cross-entropy": cross_entropy}

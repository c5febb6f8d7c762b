"""triformer's parts of a transformer."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEADS, HIDDEN, VOCABULARY, normal

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("triformer", "3.0.7")
SINGLE = torch.float32


def of(module: str, name: str) -> object:
    """One name of a module."""
    return getattr(importlib.import_module(f"triformer.{module}"), name)


def norm(module: str, name: str) -> Callable[[int, int], object]:
    """One of the norms."""

    def call(batch: int, length: int) -> object:
        return of(module, name)(HIDDEN).to(DEVICE)(normal(batch, length, HIDDEN, dtype=SINGLE))

    return call


def softmax(*, causal: bool) -> Callable[[int, int], object]:
    """The softmax of attention scores."""

    def call(batch: int, length: int) -> object:
        return of("softmax", "TritonSoftmax")(causal)(normal(batch, HEADS, length, length, dtype=SINGLE))

    return call


def swiglu(batch: int, length: int) -> object:
    """The activation."""
    return of("swiglu", "TritonSwiglu")()(*(normal(batch, length, HIDDEN, dtype=SINGLE) for _ in range(2)))


def dropout(batch: int, length: int) -> object:
    """Zeros at random."""
    return of("dropout", "TritonDropout").apply(normal(batch, length, HIDDEN, dtype=SINGLE), 0.5, 7)


def cross_entropy(chunks: int) -> Callable[[int, int], object]:
    """The loss over the vocabulary, in chunks of rows."""

    def call(batch: int, length: int) -> object:
        labels = torch.randint(0, VOCABULARY, (batch * length,), device=DEVICE)
        loss = of("cross_entropy", "TritonCrossEntropyLoss")(-100, "mean", chunks)
        return loss(normal(batch * length, VOCABULARY, dtype=SINGLE), labels)

    return call


OPERATORS = {
    "layer-norm": norm("layernorm", "TritonLayerNorm"),
    "rms-norm": norm("rms_norm", "TritonRMSNorm"),
    "softmax": softmax(causal=False),
    "softmax-causal": softmax(causal=True),
    "swiglu": swiglu,
    "dropout": dropout,
    "cross-entropy": cross_entropy(1),
}

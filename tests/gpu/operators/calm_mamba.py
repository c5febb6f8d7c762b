"""CALM's selective scan, its convolution and its gate."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HIDDEN, normal

PACKAGE = Package("calm-mamba", "0.1.4")
BARE = ("calm",)
STATE, KERNEL = 16, 4


def floats(*shape: int) -> torch.Tensor:
    """Single precision."""
    return normal(*shape, dtype=torch.float32)


def call(module: str, name: str, *arguments: Any) -> object:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"calm.triton_kernels.{module}"), name)(*arguments)


def scan(batch: int, length: int) -> object:
    """The scan of all tokens."""
    x, steps = (floats(batch, length, HIDDEN) for _ in range(2))
    b, c = (floats(batch, length, STATE) for _ in range(2))
    return call("selective_scan", "selective_scan", x, steps, floats(HIDDEN, STATE), b, c, floats(HIDDEN))


def convolution(batch: int, length: int) -> object:
    """A causal convolution of each feature."""
    return call("causal_conv1d_silu", "causal_conv1d_silu", floats(batch, length, HIDDEN), floats(HIDDEN, KERNEL))


def gate(batch: int, length: int) -> object:
    """A gated unit."""
    return call("gating", "gated_silu", floats(batch, length, HIDDEN), floats(batch, length, HIDDEN))


OPERATORS = {"scan": scan, "convolution": convolution, "gate": gate}

"""The recurrences of flash-linear-rnn."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import HIDDEN, normal

REPOSITORY = "sustcsonglin/flash-linear-rnn"
COMMIT = "6ea89803e0cff9baf9606cb8a59d26deb704cc7d"
BARE = ("linear_rnn",)


def of(name: str) -> object:
    """One function of the package."""
    return getattr(importlib.import_module("linear_rnn.scan_triton"), name)


def complex_scan(batch: int, length: int) -> object:
    """The recurrence of complex numbers, their parts apart."""
    return of("complex_scan")(*(normal(batch, length, HIDDEN, dtype=torch.float32) for _ in range(4)))


def real_scan(batch: int, length: int) -> object:
    """The recurrence with a gate that is tied to its input."""
    value, forget = (normal(batch, length, HIDDEN, dtype=torch.float32) for _ in range(2))
    return of("real_scan_tie_input_gate")(value, forget.sigmoid())


def real_scan_fused(batch: int, length: int) -> object:
    """The same, with the activations in the kernel."""
    return of("real_scan_tie_input_gate_fused")(*(normal(batch, length, HIDDEN) for _ in range(2)))


OPERATORS = {"complex-scan": complex_scan, "real-scan": real_scan, "real-scan-fused": real_scan_fused}

"""The scans of accelerated-scan that are written in Triton."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, normal

REPOSITORY = "proger/accelerated-scan"
COMMIT = "866fa4cd4eaf01338ee6d77a4f99fcd4b2f656d1"


def scalar(batch: int, length: int) -> object:
    """A first-order recurrence of real numbers."""
    made = (normal(batch, HIDDEN, length, dtype=torch.float32) for _ in range(2))
    return importlib.import_module("accelerated_scan.scalar").scan(*made)


def complex_numbers(batch: int, length: int) -> object:
    """A recurrence of complex numbers."""
    made = (torch.randn(batch, HIDDEN, length, device=DEVICE, dtype=torch.complex64) for _ in range(2))
    states = importlib.import_module("accelerated_scan.complex").scan(*(one.requires_grad_() for one in made))
    return states.real


def complex_decay(batch: int, length: int) -> object:
    """A recurrence whose decay alone is complex."""
    forget = torch.randn(batch, HIDDEN, length, device=DEVICE, dtype=torch.complex64).requires_grad_()
    inputs = normal(batch, HIDDEN, length, dtype=torch.float32)
    return importlib.import_module("accelerated_scan.complex").scan(forget, inputs).imag


OPERATORS = {"scalar": scalar, "complex": complex_numbers, "complex-decay": complex_decay}

"""Hadamard transforms of tokens' features, of a power of two and of another number."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import HIDDEN, normal

REPOSITORY = "arthurfeeney/fwht"
COMMIT = "9fcb9fe8dfac000bbebed001809b02b49a55dcdc"
UNEVEN = 300


def transform(batch: int, length: int, features: int) -> object:
    """Tokens transformed, forward and backward."""
    transformed = importlib.import_module("fwht").fast_hadamard_transform
    return transformed(normal(batch, length, features, dtype=torch.float32), scale=features**-0.5)


def even(batch: int, length: int) -> object:
    """Of HIDDEN features."""
    return transform(batch, length, HIDDEN)


def uneven(batch: int, length: int) -> object:
    """Of UNEVEN features."""
    return transform(batch, length, UNEVEN)


OPERATORS = {"even": even, "uneven": uneven}

"""Rational functions of groups of features, of tokens and of images, of the Kolmogorov-Arnold transformer."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HIDDEN, normal

REPOSITORY = "Adamdad/rational_kat_cu"
COMMIT = "181bae8baf19075bef94b5f62dac320b3d4b27d3"
TALL = 8


def tokens(batch: int, length: int) -> object:
    """Of tokens, forward and backward."""
    layer = importlib.import_module("kat_rational").KAT_Group(mode="gelu").to(DEVICE)
    return layer(normal(batch, length, HIDDEN, dtype=torch.float32))


def images(batch: int, length: int) -> object:
    """Of images of TALL rows and `length` columns, forward and backward."""
    layer = importlib.import_module("kat_rational").KAT_Group2D(mode="swish").to(DEVICE)
    return layer(normal(batch, HEAD, TALL, length, dtype=torch.float32))


OPERATORS = {"tokens": tokens, "images": images}

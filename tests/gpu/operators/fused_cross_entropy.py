"""fused-cross-entropy's last layer with its loss."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, VOCABULARY, normal

REPOSITORY = "klae01/fused-cross-entropy"
COMMIT = "fa933db89c73f42e0334ffb6244f5a1163034c4b"
FOLDERS = ("src",)


def loss(batch: int, length: int, biased: bool) -> object:
    """The loss of each token, forward and backward."""
    words = torch.zeros(batch * length, device=DEVICE, dtype=torch.int64)
    made = normal(batch * length, HIDDEN), words, normal(VOCABULARY, HIDDEN)
    bias = (normal(VOCABULARY),) if biased else (None,)
    return importlib.import_module("fused_cross_entropy").TritonFusedNLL.apply(*made, *bias)


def biased(batch: int, length: int) -> object:
    """A layer with a bias."""
    return loss(batch, length, True)


def plain(batch: int, length: int) -> object:
    """A layer without."""
    return loss(batch, length, False)


OPERATORS = {"biased": biased, "plain": plain}

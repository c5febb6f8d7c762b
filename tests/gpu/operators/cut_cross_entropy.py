"""Apple's cut cross entropy: the loss of all tokens without their logits, forward and backward."""

from __future__ import annotations

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, VOCABULARY, normal

REPOSITORY = "apple/ml-cross-entropy"
COMMIT = "d42911f9b1a1f98289bb601c35c8151562603d74"


def loss_of(batch: int, length: int, **more: object) -> torch.Tensor:
    """The loss of a batch of hidden states and a classifier."""
    from cut_cross_entropy import linear_cross_entropy

    target = torch.zeros(batch, length, device=DEVICE, dtype=torch.int64)
    return linear_cross_entropy(normal(batch, length, HIDDEN), normal(VOCABULARY, HIDDEN), target, impl="cce", **more)


def loss(batch: int, length: int) -> object:
    """The mean loss."""
    return loss_of(batch, length)


def capped(batch: int, length: int) -> object:
    """The loss of each token, of capped logits with a bias."""
    return loss_of(batch, length, softcap=30.0, reduction="none", bias=normal(VOCABULARY))


def shifted(batch: int, length: int) -> object:
    """The loss of what comes next."""
    return loss_of(batch, length + 1, shift=1)


OPERATORS = {"loss": loss, "capped": capped, "shifted": shifted}

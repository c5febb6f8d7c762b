"""linear_cross_entropy_loss' last layer with its loss, and variants of it."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, normal

REPOSITORY = "JonasGeiping/linear_cross_entropy_loss"
COMMIT = "3da8e5ff11e5d1c1ef34a9a2411287058965c141"
# Tokens, words and features are multiples of powers of two, as the library asks.
WIDE, WORDS = 512, 4096
SHAPES = ((1, 512), (2, 256), (2, 512), (3, 512), (5, 1024), (6, 256), (4, 2048), (8, 1024), (4, 128))


def words(batch: int, length: int) -> torch.Tensor:
    """A word for each token."""
    return torch.zeros(batch, length, device=DEVICE, dtype=torch.int64)


def loss(batch: int, length: int, **more: Any) -> object:
    """The layer with its loss, forward and backward."""
    layer = importlib.import_module("linear_cross_entropy").LinearCrossEntropyLoss
    made = layer(WIDE, WORDS, device=DEVICE, dtype=torch.float16, **more)
    return made(normal(batch, length, WIDE, dtype=torch.float16), words(batch, length))


def usual(batch: int, length: int) -> object:
    """As it is made."""
    return loss(batch, length)


def regularized(batch: int, length: int) -> object:
    """With a bound on logits, and chunks of 1,024 tokens."""
    return loss(batch, length, z_regularization=1e-4, logit_scale=2.0, N_chunk_size=1024)


def monitored(batch: int, length: int) -> object:
    """As a function that also tells what the logits are."""
    made = normal(batch * length, WIDE, dtype=torch.float16), words(batch, length).view(-1)
    told = importlib.import_module("linear_cross_entropy").linear_cross_entropy(
        *made, normal(WIDE, WORDS, dtype=torch.float16), monitoring=True
    )
    return told[0]


OPERATORS = {"usual": usual, "regularized": regularized, "monitored": monitored}

"""batch_invariant_ops' products, softmaxes and means that do not hang on the batch."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import HIDDEN, VOCABULARY, plain

REPOSITORY = "thinking-machines-lab/batch_invariant_ops"
COMMIT = "f22b1fbe534b1fe045080f44a970a441caaf3c4f"


def call(name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("batch_invariant_ops.batch_invariant_ops"), name)(*arguments, **more)


def product(batch: int, length: int) -> object:
    """All tokens through a layer without a bias."""
    return call("mm_batch_invariant", plain(batch * length, HIDDEN), plain(HIDDEN, VOCABULARY))


def layer(batch: int, length: int) -> object:
    """All tokens through a layer with a bias."""
    return call("addmm_batch_invariant", plain(VOCABULARY), plain(batch * length, HIDDEN), plain(HIDDEN, VOCABULARY))


def softmax(batch: int, length: int) -> object:
    """Logarithms of each word's share."""
    return call("log_softmax", plain(batch, length, VOCABULARY), dim=-1)


def features(batch: int, length: int) -> object:
    """The mean of each token's features, as norms take it."""
    return call("mean_batch_invariant", plain(batch, length, HIDDEN, dtype=torch.float32), [-1], keepdim=True)


def pooled(batch: int, length: int) -> object:
    """The mean of each sequence's tokens."""
    return call("mean_batch_invariant", plain(batch, length, HIDDEN, dtype=torch.float32), [1])


OPERATORS = {"product": product, "layer": layer, "softmax": softmax, "features": features, "pooled": pooled}

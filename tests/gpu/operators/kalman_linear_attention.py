"""kalman-linear-attention's layer, and its scans of precisions and of means."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, normal, plain

REPOSITORY = "vaisakh-shaj/kalman-linear-attention"
COMMIT = "cb2a550b97f54f9482d05f7b63b6f1253c4e2409"
FOLDERS = ("src",)
WIDE, STATE = 64, 16


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"kla.ops.kernels.triton.{module}"), name)(*arguments)


def whole(*shape: int) -> torch.Tensor:
    """A tensor of 32 bits."""
    return plain(*shape, dtype=torch.float32)


def numbers(batch: int, length: int) -> torch.Tensor:
    """One for each token, feature and state."""
    return normal(batch, length, WIDE, STATE, dtype=torch.float32)


def precision(batch: int, length: int) -> object:
    """How sure each token is, forward and backward."""
    return call("tiled_mobius_scan", "tiled_mobius_scan", *(numbers(batch, length) for _ in range(4)))


def mean(batch: int, length: int) -> object:
    """What each token expects, forward and backward."""
    return call("tiled_mobius_scan", "tiled_affine_scan", numbers(batch, length), numbers(batch, length))


def fused(batch: int, length: int) -> object:
    """Both at once."""
    tokens = whole(batch, length, WIDE), whole(batch, length, WIDE)
    states = whole(batch, length, STATE), whole(batch, length, STATE), whole(WIDE, STATE), whole(WIDE, STATE)
    first = whole(batch, WIDE, STATE), whole(batch, WIDE, STATE)
    return call("fused_kla_scan", "fused_kla_forward", *tokens, *states, *first)


def layer(batch: int, length: int) -> object:
    """A whole layer, forward and backward."""
    library = importlib.import_module("kla")
    made = library.KLALayer(d_model=WIDE, config=library.KLAConfig(d_state=STATE)).to(DEVICE)
    return made(normal(batch, length, WIDE, dtype=torch.float32))


OPERATORS = {"layer": layer, "precision": precision, "mean": mean, "fused": fused}

"""lrnnx' steps of state-space models and norms."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, normal, plain

REPOSITORY = "SforAiDl/lrnnx"
COMMIT = "b28d4ee86b74234e4d95b002df8d21564fdf393e"
# These import what is compiled of C++.
BARE = ("lrnnx", "lrnnx.ops")
STATE = 16


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"lrnnx.ops.triton.{module}"), name)(*arguments, **more)


def waves(*shape: int) -> torch.Tensor:
    """A complex tensor."""
    return torch.randn(shape, device=DEVICE, dtype=torch.complex64)


def simplified(batch: int, _length: int) -> object:
    """A step of states that all features share."""
    tokens, steps = plain(batch, HIDDEN, dtype=torch.float32), plain(batch, STATE, dtype=torch.float32)
    made = waves(STATE), waves(STATE, HIDDEN), waves(HIDDEN, STATE), plain(HIDDEN, HIDDEN, dtype=torch.float32)
    for discretization in ("bilinear", "zoh"):
        name = "simplified_state_update"
        call(name, name, waves(batch, STATE), tokens, steps, *made, discretization=discretization)
    return None


def selective(batch: int, _length: int) -> object:
    """A step of states that each feature has."""
    tokens = plain(batch, HIDDEN), plain(batch, HIDDEN), plain(HIDDEN, STATE, dtype=torch.float32)
    made = plain(batch, STATE), plain(batch, STATE), plain(HIDDEN, dtype=torch.float32), plain(batch, HIDDEN)
    for discretization in ("mamba", "zoh"):
        name, state = "selective_state_update", plain(batch, HIDDEN, STATE)
        call(name, name, state, *tokens, *made, dt_softplus=True, discretization=discretization)
    return None


def norm(batch: int, length: int) -> object:
    """Norms of tokens and of a sum, forward and backward."""
    tokens, weight = normal(batch, length, HIDDEN), normal(HIDDEN)
    whole = call("layer_norm", "layer_norm_fn", tokens, weight, normal(HIDDEN), residual=normal(batch, length, HIDDEN))
    return whole + call("layer_norm", "rms_norm_fn", normal(batch, length, HIDDEN), weight, None)


OPERATORS = {"simplified": simplified, "selective": selective, "norm": norm}

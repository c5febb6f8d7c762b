"""Norms and copies of images, of stable-fast."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import HIDDEN, plain

REPOSITORY = "chengzeyi/stable-fast"
COMMIT = "2b9b84e9d94b36cf5484c261b410c177836ebffe"
FOLDERS = ("src",)
BARE = ("sfast",)
UNUSED = ("sfast._C",)
CHANNELS, GROUPS, TALL = 64, 32, 16


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"sfast.triton.ops.{module}"), name)(*arguments, **more)


def images(batch: int, length: int) -> torch.Tensor:
    """Images of TALL rows and `length` columns."""
    return plain(batch, CHANNELS, TALL, length, dtype=torch.float16)


def last(batch: int, length: int) -> torch.Tensor:
    """Images whose channels are last."""
    return images(batch, length).contiguous(memory_format=torch.channels_last)


def weights() -> list[torch.Tensor]:
    """A norm's weights."""
    return [plain(CHANNELS, dtype=torch.float16) for _ in range(2)]


def groups(batch: int, length: int) -> object:
    """A norm of groups of channels."""
    return call("group_norm", "group_norm_forward", images(batch, length), GROUPS, *weights())


def gated(batch: int, length: int) -> object:
    """A norm of groups of channels that are last, and a gate."""
    return call("group_norm", "group_norm_silu_forward", last(batch, length), GROUPS, *weights())


def layer(batch: int, length: int) -> object:
    """A norm of tokens."""
    made = [plain(HIDDEN, dtype=torch.float16) for _ in range(2)]
    return call("layer_norm", "layer_norm", plain(batch, length, HIDDEN, dtype=torch.float16), (HIDDEN,), *made, 1e-5)


def turn(batch: int, length: int) -> object:
    """Images whose channels become last."""
    return call("copy", "copy", torch.empty_like(last(batch, length)), images(batch, length))


OPERATORS = {"groups": groups, "gated": gated, "layer": layer, "turn": turn}

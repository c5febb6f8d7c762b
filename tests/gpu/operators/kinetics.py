"""Kinetics' cache of keys and values, its decoding and its test for repeated text."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, VOCABULARY, counts, plain

REPOSITORY = "Infini-AI-Lab/Kinetics"
COMMIT = "af7fa5752c3fe998f03536be272b2fbb3e4e552d"
FOLDERS = ("LiteSys",)
BARE = ("litesys", "litesys.attention", "litesys.engine")
HEADS, GROUPS, LARGEST, LONGEST, BLOCK = 8, 2, 16, 2048, 128
SHAPES = ((1, 1), (2, 33), (3, 100), (4, 777), (7, 1500), (12, 2000))


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"litesys.{module}"), name)(*arguments)


def places(batch: int) -> torch.Tensor:
    """The slot of each sequence."""
    return torch.arange(batch, device=DEVICE)


def append(batch: int, length: int) -> object:
    """A key of each sequence into the cache."""
    made = plain(LARGEST, GROUPS, LONGEST, HEAD), plain(batch, GROUPS, 1, HEAD)
    return call("attention.cache_utils", "copy_to_cache", *made, places(batch), counts([length] * batch))


def decode(batch: int, length: int) -> object:
    """A token of each sequence."""
    module, many = "attention.cache_utils", counts([length] * LARGEST)
    keys, values = (plain(LARGEST, GROUPS, LONGEST, HEAD) for _ in range(2))
    scores = torch.empty(LARGEST, HEADS, LONGEST, device=DEVICE)
    parts = torch.empty(LARGEST, HEADS, LONGEST // BLOCK, HEAD, device=DEVICE)
    call(module, "qk", plain(batch, HEADS, 1, HEAD), keys, places(batch), many, scores, BLOCK)
    call(module, "softmax", scores, places(batch), many)
    return call(module, "sv", values, places(batch), many, scores, parts, BLOCK)


def keep(batch: int, length: int) -> object:
    """The new tokens among those of their slots."""
    slots = torch.zeros(LARGEST, LONGEST, device=DEVICE, dtype=torch.int64)
    new = torch.randint(VOCABULARY, (batch,), device=DEVICE)
    return call("engine.utils", "copy_new_tokens", slots, new, counts([length] * batch), places(batch))


def repeats(_: int, length: int) -> object:
    """Whether the last tokens were said before."""
    tokens = torch.randint(VOCABULARY, (length,), device=DEVICE, dtype=torch.int32)
    return call("engine.utils", "recent_subseq_repeat_check", tokens)


OPERATORS = {"append": append, "decode": decode, "keep": keep, "repeats": repeats}

"""Triton-FlashAttention's three versions of attention, and one of a token."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import HEAD, HEADS, plain

REPOSITORY = "lyj20071013/Triton-FlashAttention"
COMMIT = "4fc7890e2e1bc44e0bbb2642add9d2bf5b6471ce"


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def sequence(version: int, batch: int, length: int, *heads: int) -> object:
    """Attention of one sequence, of as many tokens as the batch has."""
    made = [plain(batch * length, *heads, HEAD, dtype=torch.float16) for _ in range(3)]
    name = f"flash_attention_v{version}"
    return call(f"prefill.{name}", f"call_{name}", *made, is_causal=True)


def first(batch: int, length: int) -> object:
    """The first version."""
    return sequence(1, batch, length, HEADS)


def second(batch: int, length: int) -> object:
    """The second."""
    return sequence(2, batch, length, HEADS)


def third(batch: int, length: int) -> object:
    """The third."""
    return sequence(3, batch, length, HEADS)


def decode(batch: int, length: int) -> object:
    """Attention of one token."""
    made = plain(batch, HEADS, 1, HEAD), *(plain(batch, HEADS, length, HEAD) for _ in range(2))
    return call("decoding.flash_decoding_v1", "call_flash_decoding", *made)


OPERATORS = {"first": first, "second": second, "third": third, "decode": decode}

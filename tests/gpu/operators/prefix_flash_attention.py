"""triton-prefix-lm-flash-attn's attention to a prefix and the tokens before."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import CHUNKS, HEAD, HEADS, normal

REPOSITORY = "adamcasson/triton-prefix-lm-flash-attn"
COMMIT = "157dad6dd788e3eccc232a37865e040b900b93d0"
SHAPES = CHUNKS


def attend(batch: int, length: int, prefix: int, parallel: bool) -> object:
    """Attention with a prefix of `prefix` tokens, forward and backward."""
    made = [normal(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(3)]
    return importlib.import_module("prefix_flash_attention").prefix_attention(*made, prefix, 0.125, parallel)


def fixed(batch: int, length: int) -> object:
    """A prefix of 64 tokens."""
    return attend(batch, length, 64, False)


def half(batch: int, length: int) -> object:
    """A prefix of half of all tokens, in parallel."""
    return attend(batch, length, length // 2, True)


OPERATORS = {"fixed": fixed, "half": half}

"""Decoders of sparse features, as transcoders are trained with them."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, normal

REPOSITORY = "EleutherAI/clt-training"
COMMIT = "cf9821f2b11faa36b821c0659a27d4542078dca6"
BARE = ("sparsify",)
FEATURES, ACTIVE = 4096, 32
SHAPES = ((1, 16), (2, 33), (3, 100), (4, 256), (1, 777), (2, 1024))


def call(module: str, name: str) -> Any:
    """A function of the library, or a class."""
    return getattr(importlib.import_module(f"sparsify.{module}"), name)


def chosen(tokens: int, active: int = ACTIVE) -> torch.Tensor:
    """The active features of each token."""
    return torch.randint(FEATURES, (tokens, active), device=DEVICE)


def numbers(*shape: int) -> torch.Tensor:
    """Random numbers in full precision that want their gradient."""
    return normal(*shape, dtype=torch.float32)


def decode(batch: int, length: int) -> object:
    """Tokens from their features, forward and backward."""
    tokens = batch * length
    weight = numbers(FEATURES, HIDDEN).T
    return call("kernels", "TritonDecoder").apply(chosen(tokens), numbers(tokens, ACTIVE), weight).square()


def decode_listed(batch: int, length: int) -> object:
    """Tokens from a list of features, whose number differs by token, forward and backward."""
    tokens = batch * length
    many = tokens * ACTIVE
    rows = torch.arange(many, device=DEVICE) // ACTIVE
    made = rows, chosen(1, many).view(-1), numbers(many), numbers(FEATURES, HIDDEN).T, tokens
    return call("kernels", "COODecoder").apply(*made).square()


def embed(batch: int, length: int) -> object:
    """Weighted sums of embeddings, forward and backward."""
    tokens = batch * length
    made = chosen(tokens), numbers(FEATURES, HIDDEN), numbers(tokens, ACTIVE)
    return call("xformers", "xformers_embedding_bag")(*made).square()


OPERATORS = {"decode": decode, "decode_listed": decode_listed, "embed": embed}

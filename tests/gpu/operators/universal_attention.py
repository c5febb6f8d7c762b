"""Universal attention, whose keys fade by their affinities, and the library's products, softmax and sums."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, HEAD, normal, plain

REPOSITORY = "spikerheado1234/Universal_Attention_triton"
COMMIT = "c116c4c57ef7f7bc2047204efd969509ed54e031"
FOLDERS = ("Universal_Attention/triton", ".")
HELD, SHARED, CHUNK = 2, 4, 32
# Scores of all pairs of tokens are kept.
SHAPES = CHUNKS[:-2]


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def faded(*shape: int) -> torch.Tensor:
    """How fast keys fade, or do for a query."""
    return torch.sigmoid(normal(*shape))


def fade(batch: int, length: int, *, again: bool) -> object:
    """All tokens; affinities are kept for the backward pass, or computed again."""
    query = normal(batch, HELD * SHARED, length, HEAD)
    key, value = (normal(batch, HELD, length, HEAD) for _ in range(2))
    rates = faded(batch, HELD, length), faded(batch, HELD, length)
    return call("universal_attention_kernel_opt", "attention", query, key, value, True, 1.3, *rates, True, again)


def attention(batch: int, length: int) -> object:
    """Affinities are kept, forward and backward."""
    return fade(batch, length, again=False)


def recomputed(batch: int, length: int) -> object:
    """Affinities are computed again, forward and backward."""
    return fade(batch, length, again=True)


def chunked(batch: int, length: int) -> object:
    """Keys and queries in chunks, forward and backward."""
    many = length // CHUNK
    keys = [normal(batch, HELD, many, CHUNK, HEAD) for _ in range(2)]
    query = normal(batch, HELD, SHARED, many, CHUNK, HEAD)
    rates = faded(batch, HELD, many, CHUNK), faded(batch, HELD, many, CHUNK)
    kernels = importlib.import_module("Universal_Attention.universal_attention").UniversalAttention
    return kernels.apply(*keys, query, *rates)


def affinities(batch: int, length: int) -> object:
    """What each pair of keys has in common, forward and backward."""
    rates = faded(batch, HELD, length), faded(batch, HELD, length)
    scores = importlib.import_module("_affinity_generation").AffinityScores
    return scores.apply(normal(batch, HELD, length, HEAD), *rates)


def product(batch: int, length: int) -> object:
    """Keys times the queries that share them."""
    made = plain(batch, HELD, length, HEAD), plain(batch, HELD * SHARED, length, HEAD)
    return call("matmul", "broadcasted_matmul_triton", *made)


def softmax(batch: int, length: int) -> object:
    """The softmax of scores, and that times values."""
    scores = plain(batch, HELD, length, length, dtype=torch.float32)
    call("softmax", "softmax_triton", scores)
    return call("softmax", "softmax_matmul_triton", scores, plain(batch, HELD, length, HEAD, dtype=torch.float32))


def sums(batch: int, length: int) -> object:
    """Sums of all scores before."""
    return call("cumsum", "cumsum_triton", plain(batch, HELD, length, length, dtype=torch.float32))


OPERATORS = {
    "attention": attention,
    "recomputed": recomputed,
    "chunked": chunked,
    "affinities": affinities,
    "product": product,
    "softmax": softmax,
    "sums": sums,
}

"""Meta's generative recommenders: attention over histories, layers, and jagged tensors."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, counts, lengths, normal, plain, starts

REPOSITORY = "meta-recsys/generative-recommenders"
COMMIT = "db1bf8f2e8f6a92a738dafd52a245eafb25a222b"
BARE = ("generative_recommenders", "generative_recommenders.ops", "generative_recommenders.ops.triton")
POSITIONS, BUCKETS, NEW, WIDE = 2048, 64, 16, 1024
EPS = 1e-6


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"generative_recommenders.ops.triton.{module}"), name)(*arguments, **more)


def ends(sizes: list[int]) -> torch.Tensor:
    """Where each history begins, and the end."""
    return starts(sizes).to(torch.int64)


def attention(batch: int, length: int) -> object:
    """Histories of several lengths, the longest `length`, forward and backward."""
    sizes = lengths(batch, length)
    made = [normal(sum(sizes), HEADS, HEAD) for _ in range(3)]
    targets = counts([1] * batch, torch.int64)
    return call("triton_hstu_attention", "triton_hstu_mha", length, HEAD**-0.5, *made, ends(sizes), targets)


def attention_sorted(batch: int, length: int) -> object:
    """The same with the longest first, a window and a context."""
    sizes = lengths(batch, length)
    made = [normal(sum(sizes), HEADS, HEAD) for _ in range(3)]
    more = {"max_attn_len": 64, "contextual_seq_len": 2, "sort_by_length": True}
    return call("triton_hstu_attention", "triton_hstu_mha", length, HEAD**-0.5, *made, ends(sizes), **more)


def cached(batch: int, length: int) -> object:
    """The newest of each history against what is kept."""
    room, new = length + NEW + batch, NEW + batch
    keys = [plain(batch * room, HEADS, HEAD) for _ in range(2)]
    made = plain(batch * new, HEADS, HEAD), *keys, ends([room] * batch)
    return call("triton_hstu_attention", "triton_cached_hstu_mha", room, HEAD**-0.5, *made)


def layer(batch: int, length: int) -> object:
    """A whole layer: norm, projections, attention, and the output with dropout."""
    sizes = lengths(batch, length)
    total, wide = sum(sizes), HEADS * HEAD
    made = normal(total, HIDDEN), normal(HIDDEN), normal(HIDDEN), EPS, HEADS, HEAD, HEAD
    weights = normal(HIDDEN, 4 * wide), normal(4 * wide)
    module = "triton_hstu_preprocess_and_attention"
    name = "triton_hstu_preprocess_and_attention"
    gate, seen, *_ = call(module, name, *made, *weights, length, ends(sizes), HEAD**-0.5, None)
    residual, norms = normal(total, HIDDEN), (normal(wide), normal(wide))
    numbers = normal(3 * wide, HIDDEN), EPS, 0.5, True
    more = {"concat_u": True, "concat_x": True, "num_heads": HEADS, "linear_dim": HEAD, "seed": 1}
    module = "triton_hstu_linear"
    seen = seen.view(total, wide)
    return call(module, "triton_hstu_compute_output", seen, gate, residual, *norms, *numbers, **more)


def norms(batch: int, length: int) -> object:
    """Norms and a gate of all events."""
    total = sum(lengths(batch, length))
    call("triton_layer_norm", "triton_layer_norm", normal(total, HIDDEN), normal(HIDDEN), normal(HIDDEN), EPS)
    call("triton_layer_norm", "triton_rms_norm", normal(total, HIDDEN), normal(HIDDEN), EPS)
    made = normal(total, HIDDEN), [HIDDEN], normal(HIDDEN), normal(HIDDEN), EPS
    call("triton_layer_norm", "triton_swish_layer_norm", *made)
    call("triton_swiglu", "triton_swiglu", plain(total, HIDDEN), plain(WIDE, HIDDEN), plain(WIDE, HIDDEN))
    return call("triton_addmm", "triton_addmm", normal(WIDE), normal(total, HIDDEN), normal(HIDDEN, WIDE))


def norms_backward(batch: int, length: int) -> object:
    """A norm of all events, forward and backward."""
    total = sum(lengths(batch, length))
    return call("triton_layer_norm", "triton_layer_norm", normal(total, HIDDEN), normal(HIDDEN), normal(HIDDEN), EPS)


def jagged(batch: int, length: int) -> object:
    """Histories by a matrix of each user's, and joined with what is new."""
    sizes = lengths(batch, length)
    made = length, ends(sizes), normal(sum(sizes), HIDDEN), normal(batch, HIDDEN, WIDE), normal(batch, WIDE)
    call("triton_jagged", "triton_jagged_dense_bmm_add", *made)
    made = length, ends(sizes), normal(sum(sizes), HIDDEN), normal(batch, HIDDEN)
    call("triton_jagged", "triton_jagged_dense_broadcast_add", *made)
    new = lengths(batch, NEW + batch)
    joined = normal(sum(sizes), HIDDEN), normal(sum(new), HIDDEN), ends(sizes), ends(new)
    return call("triton_jagged", "triton_concat_2D_jagged", length + max(new), *joined)


def split(batch: int, length: int) -> object:
    """Histories apart from what is new, forward and backward."""
    sizes, new = lengths(batch, length), lengths(batch, NEW + batch)
    values = normal(sum(sizes) + sum(new), HIDDEN)
    made = length + max(new), values, sum(sizes), sum(new), length, max(new), ends(sizes), ends(new)
    return call("triton_jagged_tensors", "triton_split_2D_jagged", *made)[0]


def positions(batch: int, length: int) -> object:
    """Places and times of all events."""
    sizes = lengths(batch, length)
    made = normal(sum(sizes), HIDDEN), ends(sizes), normal(POSITIONS, HIDDEN), normal(BUCKETS + 1, HIDDEN)
    times = torch.zeros(sum(sizes), device=DEVICE, dtype=torch.int64)
    numbers = length, 2, counts(sizes, torch.int64), counts([1] * batch, torch.int64), False, "sqrt"
    return call("triton_position", "triton_add_timestamp_positional_embeddings", *made, times, *numbers)


OPERATORS = {
    "attention": attention,
    "attention-sorted": attention_sorted,
    "cached": cached,
    "layer": layer,
    "norms": norms,
    "norms-backward": norms_backward,
    "jagged": jagged,
    "split": split,
    "positions": positions,
}

"""Attention Gym's gated delta rules, its norm, its index of the best keys and its attention to gathered ones."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEADS, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("attn-gym", "0.0.17")
HEAD, WINDOW, CHOSEN = 128, 64, 32
SHAPES_OF = dict.fromkeys(("chunks", "gathered"), tuple((1, length) for _, length in CHUNKS))


def delta_rule(name: str, *, by_channel: bool = False, chunks: bool = True) -> Callable[[int, int], object]:
    """A rule of linear attention with a gate of each head, or of each of its channels."""

    def call(batch: int, length: int) -> object:
        made = [(normal if chunks else plain)(batch, length, HEADS, HEAD) for _ in range(3)]
        shape = (batch, length, HEADS, HEAD) if by_channel else (batch, length, HEADS)
        gates = [-torch.rand(shape, device=DEVICE), torch.rand(batch, length, HEADS, device=DEVICE)]
        return getattr(importlib.import_module("attn_gym.linear"), name)(*made, *gates)

    return call


def norm(batch: int, length: int) -> object:
    """The norm of each head."""
    function = importlib.import_module("attn_gym.linear.kda.fwd.triton.l2norm_fwd").l2norm
    return function(normal(batch, length, HEADS, HEAD), autotune=False)


def best_keys(batch: int, length: int) -> object:
    """The keys with the best scores."""
    made: list[Any] = [plain(batch, length, HEADS, HEAD), plain(batch, length, HEAD), plain(batch, length, HEADS)]
    function = importlib.import_module("attn_gym.sparse.indexer.impl.triton").launch
    return function(*made, CHOSEN, True, 1)


def gathered(batch: int, length: int) -> object:
    """A window and the best of the far keys."""
    local, sparse = (normal(batch, 1, length, HEAD) for _ in range(2))
    chosen = torch.zeros(batch, length, CHOSEN, device=DEVICE, dtype=torch.int32)
    function = importlib.import_module("attn_gym.sparse.gather_attn").gather_attn
    made = normal(batch, HEADS, length, HEAD), local, sparse, chosen
    return function(*made, sliding_window_size=WINDOW, kernel_options={"backend": "triton"})


OPERATORS = {
    "chunks": delta_rule("chunk_gdn"),
    "recurrent": delta_rule("recurrent_gdn", chunks=False),
    "recurrent-by-channel": delta_rule("recurrent_kda", by_channel=True, chunks=False),
    "norm": norm,
    "best-keys": best_keys,
    "gathered": gathered,
}

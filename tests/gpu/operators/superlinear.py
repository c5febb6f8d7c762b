"""superlinear's attention to spans that a search chose, and to a sliding window."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, normal

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("superlinear", "0.1.0")
BARE = ("superlinear",)
SHAPES = ((1, 128), (2, 192), (3, 300), (5, 512), (6, 640), (7, 777), (1, 1000), (2, 1280))
ATTENTION, SEARCH, SPAN = (f"superlinear.kernels.superlinear.{name}" for name in ("attention", "search", "span"))
SPANS = 3


def positions(length: int) -> torch.Tensor:
    """The place of each token."""
    return torch.arange(length, device=DEVICE)


def of_tokens(batch: int, length: int, heads: int = HEADS) -> list[torch.Tensor]:
    """Queries, keys and values."""
    return [normal(batch, held, length, HEAD) for held in (HEADS, heads, heads)]


def in_window(batch: int, length: int) -> object:
    """A sliding window, several queries' heads to one of keys."""
    function = importlib.import_module(f"{ATTENTION}._sliding_window").sliding_window_attention_triton_gqa
    return function(*of_tokens(batch, length, HEADS // 2), cache_position=positions(length))


def search(module: str, name: str, heads: int = HEADS) -> Callable[[int, int], object]:
    """Choose spans."""

    def call(batch: int, length: int) -> object:
        queries, keys, _ = of_tokens(batch, length, heads)
        return getattr(importlib.import_module(f"{SEARCH}.{module}"), name)(queries, keys, positions(length))

    return call


def over_spans(
    module: str, name: str, heads: int = HEADS, *, precomputed: bool = False
) -> Callable[[int, int], object]:
    """Attention to spans; `precomputed` has the window's share already."""

    def call(batch: int, length: int) -> object:
        made: list[Any] = of_tokens(batch, length, heads)
        chosen = [torch.zeros(batch, HEADS, length, SPANS, device=DEVICE, dtype=torch.int32) for _ in range(2)]
        made += [*chosen, positions(length)]
        if precomputed:
            made += [normal(batch, HEADS, length, HEAD), normal(batch, HEADS, length, dtype=torch.float32)]
        return getattr(importlib.import_module(f"{SPAN}.{module}"), name)(*made)

    return call


OPERATORS = {
    "window": in_window,
    "search": search("_triton", "span_search_with_values"),
    "search-grouped": search("_triton_gqa", "span_search_with_values_gqa", HEADS // 2),
    "spans": over_spans("_triton_impl", "fused_span_attention"),
    "spans-grouped": over_spans("_triton_gqa", "fused_span_attention_gqa", HEADS // 2),
    "spans-precomputed": over_spans(
        "_triton_precomputed_sw", "fused_span_attention_with_precomputed_sw", precomputed=True
    ),
    "spans-precomputed-grouped": over_spans(
        "_triton_precomputed_sw_gqa", "fused_span_attention_with_precomputed_sw_gqa", HEADS // 2, precomputed=True
    ),
}

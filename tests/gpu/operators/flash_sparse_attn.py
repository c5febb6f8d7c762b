"""flash-sparse-attn's attention: dense, sparse by a threshold, and gated."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HEAD, HEADS, lengths, normal, plain, starts

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("flash-sparse-attn", "2.0.6")
UNUSED = tuple(f"triton_kernels{module}" for module in ("", ".matmul_ogs", ".numerics", ".tensor", ".swiglu"))


def of(name: str) -> object:
    """One function of the package."""
    return getattr(importlib.import_module("flash_sparse_attn"), name)


def attention(name: str, *, heads: int = HEADS, **options: object) -> Callable[[int, int], object]:
    """Attention of whole sequences; `heads` are of keys and values."""

    def call(batch: int, length: int) -> object:
        made = [normal(batch, length, count, HEAD) for count in (HEADS, heads, heads)]
        return of(name)(*made, **options)

    return call


def packed(name: str) -> Callable[[int, int], object]:
    """Attention of sequences one after the other."""

    def call(batch: int, length: int) -> object:
        each = lengths(batch, length)
        made = [normal(sum(each), HEADS, HEAD) for _ in range(3)]
        where = starts(each)
        return of(name)(*made, where, where, max(each), max(each), is_causal=True)

    return call


def decode(name: str) -> Callable[[int, int], object]:
    """A token of each sequence against what came before."""

    def call(batch: int, length: int) -> object:
        keys = [plain(batch, length, HEADS, HEAD) for _ in range(2)]
        return of(name)(plain(batch, HEADS, HEAD), *keys)

    return call


OPERATORS = {
    "dense": attention("flash_dense_attn_func"),
    "dense-causal": attention("flash_dense_attn_func", is_causal=True),
    "dense-grouped": attention("flash_dense_attn_func", heads=2, is_causal=True),
    "dense-packed": packed("flash_dense_attn_varlen_func"),
    "dense-decode": decode("flash_dense_attn_with_kvcache_func"),
    "sparse": attention("flash_sparse_attn_func", is_causal=True),
    "sparse-packed": packed("flash_sparse_attn_varlen_func"),
    "sparse-decode": decode("flash_sparse_attn_with_kvcache_func"),
}

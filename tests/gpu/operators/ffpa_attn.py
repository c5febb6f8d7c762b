"""ffpa-attn's attention of wide heads."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HEADS, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("ffpa-attn", "0.2.4")
WIDE = 320


def attention(
    *, heads: int = HEADS, query: int = 0, masked: bool = False, causal: bool = False, **backend: object
) -> Callable[[int, int], object]:
    """Attention; `heads` are of keys and values, `query` is how many queries there are, all where 0."""

    def call(batch: int, length: int) -> object:
        package = importlib.import_module("ffpa_attn")
        q = normal(batch, HEADS, query or length, WIDE, dtype=torch.float16)
        k, v = (normal(batch, heads, length, WIDE, dtype=torch.float16) for _ in range(2))
        options: dict[str, object] = {"is_causal": causal, "enable_gqa": heads != HEADS}
        if masked:
            options["attn_mask"] = plain(batch, HEADS, query or length, length, dtype=torch.float16)
        return package.ffpa_attn_func(q, k, v, **options, backend=package.TritonBackend(**backend))

    return call


OPERATORS = {
    "full": attention(),
    "causal": attention(causal=True),
    "grouped": attention(heads=2, causal=True),
    "masked": attention(masked=True),
    "decode": attention(query=1),
    "tuned": attention(autotune=True),
    "tuned-decode": attention(query=1, autotune=True),
    "split": attention(split_launch=True, preprocess_d_chunk=True),
}

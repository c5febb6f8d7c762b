"""aule-attention's kernels, which are for several makers' GPUs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HEAD, HEADS, cache, counts, lengths, normal, page_table, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("aule-attention", "0.5.0")
BARE = ("aule",)


def attention(
    module: str, name: str, *, heads: int = HEADS, rotary: bool = False, **options: object
) -> Callable[[int, int], object]:
    """Attention; `heads` are of keys and values."""

    def call(batch: int, length: int) -> object:
        made = [normal(batch, count, length, HEAD, dtype=torch.float16) for count in (HEADS, heads, heads)]
        angles = [plain(length, HEAD // 2, dtype=torch.float16) for _ in range(2)] if rotary else []
        return getattr(importlib.import_module(f"aule.{module}"), name)(*made, *angles, **options)

    return call


def paged(batch: int, length: int) -> object:
    """A token of each sequence against keys in pages."""
    tables, sizes = page_table(batch, length), counts(lengths(batch, length))
    query = plain(batch, HEADS, HEAD, dtype=torch.float16)
    module = importlib.import_module("aule.triton_flash_amd")
    return module.flash_attention_paged_amd(query, cache(), cache(), tables, sizes)


OPERATORS = {
    "causal": attention("triton_flash", "flash_attention_triton"),
    "full-grouped": attention("triton_flash", "flash_attention_triton", heads=2, causal=False),
    "window": attention("triton_flash", "flash_attention_triton", window_size=64),
    "rotary": attention("triton_flash", "flash_attention_rope", rotary=True),
    "tuned": attention("triton_flash_amd", "flash_attention_amd"),
    "tuned-full": attention("triton_flash_amd", "flash_attention_amd", causal=False),
    "paged": paged,
}

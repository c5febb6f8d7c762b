"""The operators of adasplash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import HEAD, HEADS, VOCABULARY, counts, lengths, normal

if TYPE_CHECKING:
    from collections.abc import Callable


def attention(name: str, **options: object) -> Callable[[int, int], object]:
    """An attention over sequences of different lengths."""

    def call(batch: int, length: int) -> object:
        import adasplash

        longest = max(64, length)
        made = [normal(batch, HEADS, longest, HEAD) for _ in range(3)]
        return getattr(adasplash, name)(*made, varlen=counts(lengths(batch, longest)), **options)

    return call


def over_logits(name: str) -> Callable[[int, int], object]:
    """A sparse softmax over a vocabulary."""

    def call(batch: int, length: int) -> object:
        import adasplash

        return getattr(adasplash, name)(normal(batch * length, VOCABULARY, dtype=torch.float32))

    return call


def over_scores(name: str) -> Callable[[int, int], object]:
    """A sparse softmax over positions."""

    def call(batch: int, length: int) -> object:
        import adasplash

        scores = normal(batch * HEADS, max(16, length), dtype=torch.float32)
        return getattr(adasplash, name)(scores)

    return call


OPERATORS = {
    "v1": attention("adasplash_v1"),
    "v1-causal": attention("adasplash_v1", is_causal=True),
    "v2": attention("adasplash_v2"),
    "no-mask": attention("adasplash_no_block_mask"),
    "no-mask-causal": attention("adasplash_no_block_mask", is_causal=True),
    "entmax-v1": over_logits("triton_entmax_v1"),
    "entmax-v2": over_logits("triton_entmax_v2"),
    "entmax-v1-scores": over_scores("triton_entmax_v1"),
    "entmax-v2-scores": over_scores("triton_entmax_v2"),
    "sparsemax": over_logits("triton_sparsemax"),
}

"""triton-sigmoid's attention with a sigmoid in place of the softmax."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HEAD, HEADS, counts, lengths, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("triton-sigmoid", "0.1.2")


def attention(name: str, *, biased: bool = False, padded: bool = False, causal: bool) -> Callable[[int, int], object]:
    """Attention; `padded` with a length for each sequence, `biased` with a bias for each token."""

    def call(batch: int, length: int) -> object:
        made = [normal(batch, length, HEADS, HEAD, dtype=torch.float16) for _ in range(3)]
        more: dict[str, object] = {"is_causal": causal}
        if biased:
            more["score_mod"] = plain(batch, length, dtype=torch.float16)
        if padded:
            more |= dict.fromkeys(("seq_lens_k", "seq_lens_q"), counts(lengths(batch, length)))
        return getattr(importlib.import_module("triton_sigmoid"), name)(*made, **more)

    return call


OPERATORS = {
    "full": attention("sigmoid_attention", causal=False),
    "causal": attention("sigmoid_attention", causal=True),
    "biased": attention("sigmoid_attention", causal=False, biased=True),
    "padded": attention("sigmoid_attention_padded", causal=False, padded=True),
    "padded-causal": attention("sigmoid_attention_padded", causal=True, padded=True, biased=True),
}

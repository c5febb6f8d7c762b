"""Sparse attention over chosen blocks, of native-sparse-attention-pytorch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, normal

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "lucidrains/native-sparse-attention-pytorch"
COMMIT = "83fa271c21a0db35ef10d38d1d50aba8a09d3c69"
BARE = ("native_sparse_attention_pytorch",)
UNUSED = ("einx", "jaxtyping")
CHOSEN, BLOCK = 2, 32


def attend(*, sizes: int, **options: object) -> Callable[[int, int], object]:
    """Attention of `HEADS` query heads to `sizes` key heads."""

    def call(batch: int, length: int) -> object:
        q, k, v = (normal(batch, heads, length, HEAD, dtype=torch.float16) for heads in (HEADS, sizes, sizes))
        which = torch.zeros(batch, sizes, length, CHOSEN, device=DEVICE, dtype=torch.long)
        mask = torch.ones(batch, sizes, length, CHOSEN, device=DEVICE, dtype=torch.bool)
        scale = torch.ones(batch, sizes, length, CHOSEN, device=DEVICE).requires_grad_()
        module = importlib.import_module("native_sparse_attention_pytorch.triton_native_sparse_attention")
        return module.native_sparse_attend(q, k, v, BLOCK, which, mask, sel_scale=scale, **options)

    return call


OPERATORS = {
    "grouped": attend(sizes=2),
    "one-to-one": attend(sizes=HEADS),
    "sliding": attend(sizes=2, return_sliding_window_out=True),
    "without-diagonal": attend(sizes=2, include_block_causal=False),
    "with-dot": attend(sizes=2, block_dk_dv_use_dot=True, return_lse=True),
}

"""The lessons of learn-triton: vectors, matrices, attention, experts and numbers of 8 bits."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, cache, counts, page_table, plain, starts

REPOSITORY = "KindRoach/learn-triton"
COMMIT = "c5221d7bcb3887d06d523f701e7514a92e4e4d58"
WIDE, HELD, EXPERTS, CHOSEN = 1024, 2, 8, 2


def call(lesson: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of one of the lessons, with memory for what is described on the device."""
    importlib.import_module("src.utils").enable_tma_allocator()
    return getattr(importlib.import_module(f"src.{lesson}"), name)(*arguments, **more)


def half(*shape: int) -> torch.Tensor:
    """A tensor of 16 bits."""
    return plain(*shape, dtype=torch.float16)


def vectors(batch: int, length: int) -> object:
    """Sums of vectors, and of their products."""
    made = [plain(batch * length * HIDDEN, dtype=torch.float32) for _ in range(3)]
    for name in ("vector_add", "vector_add_autotune"):
        call("02_vector.01_vector_add", name, *made)
    for name in ("vector_dot", "vector_dot_autotune"):
        call("02_vector.02_vector_dot", name, *made[:2], plain(1, dtype=torch.float32))
    return None


def matrices(batch: int, length: int) -> object:
    """Matrices transposed and multiplied."""
    for name in ("transpose", "transpose_autotune"):
        call("03_matrix.01_matrix_transpose", name, half(batch * length, HIDDEN), half(HIDDEN, batch * length))
    for name in ("matrix_multiply", "matrix_multiply_autotune"):
        made = half(batch * length, HIDDEN), half(HIDDEN, WIDE), half(batch * length, WIDE)
        call("03_matrix.02_matrix_multiply", name, *made)
    return None


def heads(batch: int, length: int, asked: int) -> list[torch.Tensor]:
    """Queries, keys, values and room for what comes out."""
    return [
        half(batch, HEADS, asked, HEAD),
        half(batch, HELD, length, HEAD),
        half(batch, HELD, length, HEAD),
        half(batch, HEADS, asked, HEAD),
    ]


def attention(batch: int, length: int) -> object:
    """Attention to all tokens."""
    for name in ("flash_attn", "flash_attn_autotune"):
        call("04_attn.02_flash_attn", name, *heads(batch, length, length))
    return None


def grouped_attention(batch: int, length: int) -> object:
    """Attention of the heads of a group at once."""
    for name in ("flash_attn_gqa_fusion", "flash_attn_gqa_fusion_autotune"):
        call("04_attn.03_flash_attn_gqa_fusion", name, *heads(batch, length, length))
    return None


def decode(batch: int, length: int) -> object:
    """One token's attention."""
    for name in ("flash_decode", "flash_decode_autotune"):
        call("04_attn.05_flash_decode", name, *heads(batch, length, 1))
    return None


def paged(batch: int, length: int) -> object:
    """Attention to tokens in pages."""
    asked = half(batch * length, HEADS, HEAD)
    begins, many = starts([length] * batch), counts([length] * batch)
    for tuned in (False, True):
        made = asked, cache(HELD), cache(HELD), torch.empty_like(asked), begins, length, many
        call("04_attn.07_flash_attn_paged", "triton_flash_attn_paged", *made, page_table(batch, length), autotune=tuned)
    return None


def experts(batch: int, length: int) -> object:
    """Tokens to their experts, in order and each by itself."""
    tokens, layer = half(batch * length, HIDDEN), half(EXPERTS, HIDDEN, WIDE)
    out = half(batch * length, CHOSEN, WIDE)
    many = counts([batch * length * CHOSEN // EXPERTS] * EXPERTS)
    order = torch.arange(batch * length * CHOSEN, device=DEVICE, dtype=torch.int32)
    chosen = order.view(-1, CHOSEN) % EXPERTS
    for tuned in (False, True):
        made = out, tokens, layer
        call(
            "05_moe.02_moe_gemm_implicit_group",
            "triton_moe_gemm_implicit_group",
            *made,
            many,
            order,
            True,
            auto_tune=tuned,
        )
        call("05_moe.04_moe_gemm_token_centric", "triton_moe_gemm_token_centric", *made, chosen, True, auto_tune=tuned)
        apart = half(batch * length * CHOSEN, HIDDEN), layer, many, out.view(-1, WIDE)
        call("05_moe.03_moe_gemm_explicit_group", "triton_moe_gemm_explicit_group", *apart, auto_tune=tuned)
    return None


def eight(batch: int, length: int) -> object:
    """Products of 8-bit numbers with one scale, and with one for each channel."""
    tokens = torch.zeros(batch * length, HIDDEN, device=DEVICE, dtype=torch.int8)
    layer = torch.zeros(WIDE, HIDDEN, device=DEVICE, dtype=torch.int8)
    made = tokens, layer, plain(batch * length, WIDE, dtype=torch.float32)
    call("07_quant.01_per_tensor_quant_gemm", "per_tensor_quant_gemm", *made, 0.5, 0.5)
    scales = plain(WIDE, dtype=torch.float32), plain(1, dtype=torch.float32)
    for name in ("per_channel_quant_gemm", "per_channel_quant_gemm_swapAB"):
        call("07_quant.02_per_channel_quant_gemm", name, *made, *scales)
    return None


OPERATORS = {
    "vectors": vectors,
    "matrices": matrices,
    "attention": attention,
    "grouped-attention": grouped_attention,
    "decode": decode,
    "paged": paged,
    "experts": experts,
    "eight": eight,
}

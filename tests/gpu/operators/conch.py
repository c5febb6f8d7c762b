"""The operators of conch-triton-kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import (
    DEVICE,
    HEAD,
    HEADS,
    HIDDEN,
    cache,
    counts,
    lengths,
    page_table,
    plain,
    starts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

HALF = torch.float16


def activation(name: str) -> Callable[[int, int], object]:
    def call(batch: int, length: int) -> object:
        import importlib

        return getattr(importlib.import_module(f"conch.ops.activation.{name}"), name)(
            plain(batch * length, 2 * HIDDEN, dtype=torch.float32)
        )

    return call


def norms(batch: int, length: int) -> object:
    from conch.ops.normalization.gemma_rms_norm import gemma_rms_norm
    from conch.ops.normalization.rms_norm import fused_add_rms_norm, rms_norm

    rms_norm(plain(batch * length, HIDDEN), plain(HIDDEN), 1e-6)
    fused_add_rms_norm(plain(batch * length, HIDDEN), plain(batch * length, HIDDEN), plain(HIDDEN), 1e-6)
    gemma_rms_norm(plain(batch * length, HIDDEN), plain(HIDDEN), 1e-6, plain(batch * length, HIDDEN))


def paged_attention(batch: int, length: int) -> object:
    from conch.ops.attention.paged_attention import paged_attention as apply

    query = plain(batch, HEADS, HEAD, dtype=HALF)
    return apply(query, cache(), cache(), page_table(batch, length), counts(lengths(batch, length)))


def varlen_attention(batch: int, length: int) -> object:
    from conch.ops.attention.varlen_attention import varlen_attention as apply

    each = lengths(batch, length)
    query = plain(sum(each), HEADS, HEAD, dtype=HALF)
    table = page_table(batch, length)
    return apply(query, cache(), cache(), starts(each), max(each), counts(each), max(each), table, causal=True)


def fill_cache(batch: int, length: int) -> object:
    from conch.ops.vllm.reshape_and_cache import reshape_and_cache

    made = [plain(batch * length, HEADS, HEAD, dtype=HALF) for _ in range(2)]
    slots = torch.arange(batch * length, device=DEVICE, dtype=torch.int64)
    return reshape_and_cache(*made, cache(), cache(), slots)


def rotary(batch: int, length: int) -> object:
    from conch.ops.embedding.rotary_embedding import rotary_embedding

    made = [plain(batch * length, HEADS * HEAD, dtype=HALF) for _ in range(2)]
    positions = torch.arange(length, device=DEVICE).repeat(batch)
    return rotary_embedding(positions, *made, HEAD, plain(2048, HEAD, dtype=HALF))


def eight_bits(batch: int, length: int) -> object:
    from conch.ops.quantization.fp8 import scaled_fp8_quant
    from conch.ops.quantization.int8 import scaled_int8_quant

    scale = torch.ones(1, device=DEVICE)
    scaled_fp8_quant(plain(batch * length, HIDDEN), scale)
    scaled_int8_quant(plain(batch * length, HIDDEN), scale)


def scaled_gemm(batch: int, length: int) -> object:
    from conch.ops.quantization.gemm import scaled_gemm as apply

    a = torch.ones(batch * length, HIDDEN, device=DEVICE, dtype=torch.int8)
    b = torch.ones(HIDDEN, HIDDEN, device=DEVICE, dtype=torch.int8)
    return apply(a, b, torch.ones(batch * length, 1, device=DEVICE), torch.ones(HIDDEN, 1, device=DEVICE), HALF)


def four_bits(batch: int, length: int) -> object:
    from conch.ops.quantization.bitsandbytes.functional import dequantize_4bit, quantize_4bit

    packed, state = quantize_4bit(plain(batch * length * HIDDEN, dtype=HALF), quant_type="nf4")
    return dequantize_4bit(packed, state, quant_type="nf4")


def boxes(batch: int, length: int) -> object:
    from conch.ops.vision.nms import nms

    corners = torch.rand(batch * length, 2, device=DEVICE)
    return nms(torch.cat([corners, corners + 0.1], dim=1), torch.rand(batch * length, device=DEVICE), 0.5)


OPERATORS = {
    "gelu": activation("gelu_tanh_and_mul"),
    "silu": activation("silu_and_mul"),
    "norms": norms,
    "paged-attention": paged_attention,
    "varlen-attention": varlen_attention,
    "fill-cache": fill_cache,
    "rotary": rotary,
    "eight-bits": eight_bits,
    "scaled-gemm": scaled_gemm,
    "four-bits": four_bits,
    "boxes": boxes,
}

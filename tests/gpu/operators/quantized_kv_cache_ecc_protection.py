"""Caches of four bits with codes that correct errors: written, read, disturbed, and attended to."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import (
    DEVICE,
    HEAD,
    HEADS,
    PAGE,
    PAGES,
    counts,
    lengths,
    page_table,
    plain,
)

REPOSITORY = "indrajeetadityaroy9/quantized-kv-cache-ecc-protection"
COMMIT = "77f3eb2105802e6c82db7de167c1830d568c75f4"
# What is more than attention in its folder imports much.
BARE = ("kv_cache",)
TRIPLES = -(-HEAD // 3)


def call(name: str, *arguments: object, **more: object) -> Any:
    """Call one of the library's operators."""
    return getattr(importlib.import_module("ecc_codecs.triton_kernels"), name)(*arguments, **more)


def nibbles(*shape: int) -> torch.Tensor:
    """Numbers of four bits."""
    return torch.randint(0, 16, shape, device=DEVICE, dtype=torch.uint8)


def short(batch: int, length: int) -> object:
    """All tokens in seven bits, and back."""
    return call("hamming74_decode", call("hamming74_encode", nibbles(batch, length, HEAD)))[0]


def wide(batch: int, length: int) -> object:
    """All tokens in eight bits, and back, with what was wrong."""
    codes = call("hamming84_encode", nibbles(batch, length, HEAD))
    call("hamming84_decode", codes)
    return call("hamming84_decode", codes, return_error_types=True)[0]


def triples(batch: int, length: int) -> object:
    """All tokens in 24 bits for three numbers, and back."""
    codes = call("golay_encode", nibbles(batch * length * TRIPLES, 3))
    return call("golay_decode", codes)[0]


def fused(batch: int, length: int) -> object:
    """All tokens in four bits and their codes at once, and back."""
    call("fused_quantize_encode_hamming74", plain(batch, HEADS, length, HEAD))
    codes, scales = call("fused_quantize_encode_hamming84", plain(batch, HEADS, length, HEAD))
    return call("fused_decode_dequantize_hamming84", codes, scales)[0]


def disturb(batch: int, length: int) -> object:
    """Some bits of all codes turned over, of eight and of 24."""
    call("inject_bit_errors_triton", nibbles(batch, length, HEAD), 0.01, 8)
    codes = torch.zeros(batch * length * TRIPLES, device=DEVICE, dtype=torch.int32)
    return call("inject_bit_errors_triton", codes, 0.01, 24)


def disturb_counted(batch: int, length: int) -> object:
    """Some bits of all codes turned over, and how many."""
    inject = importlib.import_module("ecc_codecs.triton_kernels.fault_injection_triton")
    codes = torch.zeros(batch * length * TRIPLES, device=DEVICE, dtype=torch.int32)
    inject.inject_bit_errors_triton_vectorized(codes, 0.01, 24)
    return inject.inject_bit_errors_triton_vectorized(nibbles(batch, length, HEAD), 0.01, 8, return_stats=True)[0]


def attend(batch: int, length: int, **more: object) -> object:
    """One token of each sequence to a cache with codes of eight bits."""
    kept = [torch.zeros(PAGES, 1, HEADS, PAGE * HEAD, device=DEVICE, dtype=torch.uint8) for _ in "kv"]
    scales = plain(PAGES, 1, HEADS, PAGE, dtype=torch.float32)
    attention = importlib.import_module("kv_cache.attention_ecc").paged_attention_ecc
    query = plain(batch, HEADS, HEAD, dtype=torch.float32)
    many = counts(lengths(batch, length))
    return attention(query, *kept, page_table(batch, length), many, scales, 0, PAGE, **more)


OPERATORS = {
    "short": short,
    "wide": wide,
    "triples": triples,
    "fused": fused,
    "disturb": disturb,
    "disturb_counted": disturb_counted,
    "attend": attend,
    "attend_tiled": lambda batch, length: attend(batch, length, use_tiled=True),
}

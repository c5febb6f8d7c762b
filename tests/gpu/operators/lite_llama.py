"""lite_llama's kernels of a Llama: attention, cache, norm, rotation, experts and few bits."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, counts, lengths, plain, starts

REPOSITORY = "harleyszhang/lite_llama"
COMMIT = "3c22cc9bb8b50b8cc8af50600fb7e0d0a7cf9910"
BARE = ("lite_llama",)
HELD, SLOTS, REQUESTS, ROOM, WIDE, GROUP = HEADS // 2, 8192, 16, 2048, 1024, 128
EXPERTS, CHOSEN = 8, 2


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"lite_llama.kernels.{module}"), name)(*arguments, **more)


def half(*shape: int) -> torch.Tensor:
    """Half precision, as the kernels take it."""
    return plain(*shape, dtype=torch.float16)


def attention(batch: int, length: int) -> object:
    """A prompt, by both generations of the kernel."""
    made = [half(batch, HEADS, length, HEAD) for _ in range(3)]
    call("flashattention", "flash_attention_v1", *made)
    return call("flashattentionv2", "flash_attention_v2", *made)


def prefill(batch: int, length: int) -> object:
    """Prompts of several lengths, one after another."""
    sizes = lengths(batch, length)
    total = sum(sizes)
    made = half(total, HEADS, HEAD), half(total, HELD, HEAD), half(total, HELD, HEAD)
    begins = starts(sizes)[:-1].contiguous()
    return call("flashattention2_nopad", "flash_attention2_no_pad", *made, HEAD**-0.5, begins, counts(sizes), length)


def decode(batch: int, length: int) -> object:
    """One token of each request; its place is noted first."""
    table = torch.zeros(REQUESTS, ROOM, device=DEVICE, dtype=torch.int32)
    requests, sizes = torch.arange(batch, device=DEVICE, dtype=torch.int32), counts(lengths(batch, length))
    call("update_kv_index", "update_kv_index", table, requests, sizes, torch.arange(batch, device=DEVICE))
    call("update_kv_buffer", "update_kv_buffer", half(batch, 2 * HELD, HEAD), requests, half(SLOTS, 2 * HELD, HEAD))
    caches = half(SLOTS, HELD, HEAD), half(SLOTS, HELD, HEAD)
    return call(
        "flashdecoding", "flash_decoding", half(batch, HEADS, HEAD), *caches, HEAD**-0.5, table, requests, sizes, length
    )


def rotate(batch: int, length: int) -> object:
    """Queries and keys of all tokens, rotated."""
    made = half(batch * length, HEADS, HEAD), half(batch * length, HELD, HEAD)
    return call(
        "rope_emb", "rope_emb_forward", *made, half(batch, length, HEAD), half(batch, length, HEAD), batch, length
    )


def norm(batch: int, length: int) -> object:
    """Norms with the residual, and the gate."""
    tokens, weight = half(batch, length, HIDDEN), half(HIDDEN)
    call("skip_rmsnorm", "skip_rmsnorm_no_view", tokens, half(batch, length, HIDDEN), weight)
    call("skip_rmsnorm", "skip_rmsnorm", tokens, None, weight)
    call("skip_rmsnorm", "skip_rmsnorm", tokens, half(batch, length, HIDDEN), weight)
    return call("swiglu", "swiglu_forward", half(batch, length, WIDE), half(batch, length, WIDE))


def experts(batch: int, length: int) -> object:
    """Tokens to two experts each."""
    tokens = batch * length
    chosen = torch.arange(tokens * CHOSEN, device=DEVICE, dtype=torch.int32).view(tokens, CHOSEN) % EXPERTS
    weights = half(EXPERTS, 2 * WIDE, HIDDEN), half(EXPERTS, HIDDEN, WIDE)
    shares = plain(tokens, CHOSEN, dtype=torch.float32)
    return call("fused_moe", "fused_moe", half(tokens, HIDDEN), *weights, shares, chosen)


def few_bits(batch: int, length: int) -> object:
    """A layer of four bits, and two of eight."""
    tokens = half(batch, length, HIDDEN)
    packed = torch.zeros(WIDE, HIDDEN // 8, device=DEVICE, dtype=torch.int32)
    scales, zeros = (plain(WIDE, HIDDEN // GROUP, dtype=torch.float32) for _ in range(2))
    call("quantization.w4a16", "w4a16_matmul", tokens, packed, scales, zeros, group_size=GROUP)
    codes = torch.zeros(WIDE, HIDDEN, device=DEVICE, dtype=torch.int8)
    each = plain(WIDE, 1, dtype=torch.float32)
    call("quantization.w8a16", "w8a16_matmul", tokens, codes, each, group_n=1, group_k=HIDDEN)
    return call("quantization.w8a8", "smoothquant_matmul", tokens, codes, each)


OPERATORS = {
    "attention": attention,
    "prefill": prefill,
    "decode": decode,
    "rotate": rotate,
    "norm": norm,
    "experts": experts,
    "few-bits": few_bits,
}

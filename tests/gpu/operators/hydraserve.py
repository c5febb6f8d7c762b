"""Hydraserve's attention over pages, delta rule, norms, weights of few bits and caches."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import (
    DEVICE,
    HEAD,
    HEADS,
    HIDDEN,
    PAGE,
    PAGES,
    cache,
    counts,
    lengths,
    page_table,
    plain,
)

REPOSITORY = "heurry/Hydraserve"
COMMIT = "d13bfe14105fce834d7c38c6a0418becc457e0a2"
HELD, SHARED, LAYERS, WIDTH, WIDE, GROUP = 2, 4, 2, 4, 1024, 128
STEPS = ((1, 1), (2, 1), (3, 1), (4, 1), (7, 1))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"hydraserve.kernels.{module}"), name)(*arguments, **more)


def gates(batch: int, length: int) -> object:
    """What bends, and the gates of the delta rule."""
    call("activation", "silu_and_mul", plain(batch, length, WIDE), plain(batch, length, WIDE))
    kept = plain(HEADS, dtype=torch.float32), plain(HEADS, dtype=torch.float32)
    return call("activation", "gdn_gating", plain(batch, length, HEADS), plain(batch, length, HEADS), *kept)


def norms(batch: int, length: int) -> object:
    """The norms of all tokens, and of all heads with a gate."""
    call("rmsnorm", "rms_norm", plain(batch, length, HIDDEN), plain(HIDDEN))
    heads = plain(batch, length, HEADS, HEAD), plain(batch, length, HEADS, HEAD)
    return call("rmsnorm", "gated_rms_norm", *heads, plain(HEAD))


def convolve(batch: int, length: int) -> object:
    """A convolution that sees nothing later, with and without parts."""
    channels = 2 * HELD * HEAD + HEADS * HEAD
    made = plain(batch, length, channels), plain(channels, WIDTH), plain(batch, channels, WIDTH)
    call("gdn", "causal_depthwise_conv", *made)
    return call("gdn", "causal_depthwise_conv", *made, split_widths=(HELD * HEAD, HELD * HEAD, HEADS * HEAD))[1]


def delta(batch: int, length: int) -> object:
    """The gated delta rule over all tokens."""
    made = [plain(batch, length, heads, HEAD) for heads in (HELD, HELD, HEADS)]
    rates = [torch.rand(batch, length, HEADS, device=DEVICE) for _ in range(2)]
    state = plain(batch, HEADS, HEAD, HEAD, dtype=torch.float32)
    return call("gdn", "gated_delta_recurrent", *made, -rates[0], rates[1], state)[0]


def write(batch: int, length: int) -> object:
    """The keys and values of a prompt to their pages."""
    tokens = plain(length, HEADS, HEAD, dtype=torch.float16), plain(length, HEADS, HEAD, dtype=torch.float16)
    places = torch.arange(length, device=DEVICE, dtype=torch.int32)
    return call("kv_cache", "write_paged_kv", *tokens, places, page_table(batch, length)[0], cache(), cache())


def write_step(batch: int, length: int) -> object:
    """The key and value of a step of each sequence to their pages, with and without eight bits."""
    tokens = plain(batch, HEADS, HEAD, dtype=torch.float16), plain(batch, HEADS, HEAD, dtype=torch.float16)
    last = counts([size - 1 for size in lengths(batch, length)]), page_table(batch, length)
    call("kv_cache", "write_paged_kv_batch", *tokens, *last, cache(), cache())
    small = [token.to(torch.int8) for token in tokens]
    scales = [torch.rand(batch, HEADS, device=DEVICE) for _ in range(2)]
    kept = [cache().to(torch.int8) for _ in range(2)]
    kept_scales = [torch.rand(PAGES, PAGE, HEADS, device=DEVICE) for _ in range(2)]
    return call("kv_cache", "write_paged_kv_batch_quantized", *small, *scales, *last, *kept, *kept_scales)


def decode(batch: int, length: int) -> object:
    """Attention of a step to the pages of each sequence, in parts."""
    query = plain(batch, HEADS * SHARED, HEAD, dtype=torch.float16)
    made = query, cache(), cache(), page_table(batch, length), counts(lengths(batch, length))
    return call("paged_attention", "paged_attention_splitk", *made)


def decode_whole(batch: int, length: int) -> object:
    """Attention of a step to the pages of each sequence, without parts."""
    query = plain(batch, HEADS * SHARED, HEAD, dtype=torch.float16)
    made = query, cache(), cache(), page_table(batch, length), counts(lengths(batch, length))
    return call("paged_attention", "paged_attention", *made)


def prefill(batch: int, length: int) -> object:
    """Attention of a prompt to its pages."""
    query = plain(batch, length, HEADS * SHARED, HEAD, dtype=torch.float16)
    made = query, cache(), cache(), page_table(batch, length)
    return call("paged_attention", "paged_prefill_attention", *made, query_start=0)


def move(batch: int, length: int) -> object:
    """The pages of a sequence gathered for another machine, and put where they belong."""
    pages = page_table(batch, length)[0]
    kept = [plain(LAYERS, PAGES, PAGE, HEADS, HEAD, dtype=torch.float16) for _ in range(2)]
    staged = call("staging", "fused_gather_paged_kv", *kept, pages, 0, length)
    return call("staging", "fused_scatter_paged_kv", staged, *kept, pages, 0)


def four_bits(batch: int, length: int) -> object:
    """Tokens times a weight of four bits."""
    packed = torch.randint(-(2**31), 2**31 - 1, (WIDE, HIDDEN // 8), device=DEVICE, dtype=torch.int32)
    zeros = torch.randint(-(2**31), 2**31 - 1, (WIDE // 8, HIDDEN // GROUP), device=DEVICE, dtype=torch.int32)
    held = importlib.import_module("hydraserve.model.weights").PackedInt4Weight
    weight = held(packed, plain(WIDE, HIDDEN // GROUP), zeros, (WIDE, HIDDEN), GROUP)
    return call("awq", "awq_linear", plain(batch, length, HIDDEN), weight)


def eight_bits(batch: int, length: int) -> object:
    """Tokens times a weight of eight bits."""
    held = importlib.import_module("hydraserve.model.weights").BlockScaledFP8Weight
    scales = torch.rand(WIDE // GROUP, HIDDEN // GROUP, device=DEVICE)
    weight = held(plain(WIDE, HIDDEN).to(torch.float8_e4m3fn), scales, (WIDE, HIDDEN))
    return call("fp8", "fp8_linear", plain(batch, length, HIDDEN), weight)


OPERATORS = {
    "gates": gates,
    "norms": norms,
    "convolve": convolve,
    "delta": delta,
    "write": write,
    "write_step": write_step,
    "decode": decode,
    "decode_whole": decode_whole,
    "prefill": prefill,
    "move": move,
    "four_bits": four_bits,
    "eight_bits": eight_bits,
}

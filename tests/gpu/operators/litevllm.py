"""A small vLLM: attention and caches in pages, weights of four bits, experts, and DeepSeek's sparse attention."""

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
    VOCABULARY,
    cache,
    counts,
    lengths,
    page_table,
    plain,
)

REPOSITORY = "jiayingsong2023/litevLLM"
COMMIT = "402ddf60e17c142ab6d01bbcd8853aa705f741c4"
BARE = ("vllm", "vllm.kernels", "vllm.kernels.triton", "vllm.kernels.triton.deepseek_v4_flash", "vllm.model_executor")
HELD, WIDE, GROUP, EXPERTS, CHOSEN, LATENT, ROWS, LONGEST = 2, 1024, 32, 8, 2, 512, 16, 4096
STEPS = ((1, 1), (2, 1), (3, 1), (5, 1), (8, 1), (16, 1))
KEPT = ((1, 1), (1, 16), (1, 33), (1, 100), (1, 127), (1, 200), (1, 777), (1, 1000), (1, 3000))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call one of the library's kernels' functions."""
    return getattr(importlib.import_module(f"vllm.kernels.triton.{module}"), name)(*arguments, **more)


def packed(*shape: int) -> torch.Tensor:
    """Eight numbers of four bits in each."""
    return torch.randint(-(2**31), 2**31 - 1, shape, device=DEVICE, dtype=torch.int32)


def weight(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A weight of four bits, and the scales of its groups."""
    *rows, columns = shape
    return packed(*rows, columns // 8), plain(*rows, columns // GROUP, dtype=torch.float16)


def whole(*shape: int) -> torch.Tensor:
    """A tensor of 32 bits."""
    return plain(*shape, dtype=torch.float32)


def attend(batch: int, length: int) -> object:
    """One token of each sequence to its pages, without and with a cap."""
    query = plain(batch, HEADS, HEAD, dtype=torch.float16)
    made = query, cache(HELD), cache(HELD), HEADS, HEAD**-0.5, page_table(batch, length)
    more = counts(lengths(batch, length)), PAGE, LONGEST, None, "auto"
    for cap in (None, 50.0):
        out = torch.empty_like(query)
        call("paged_attention", "paged_attention_v1", out, *made, *more, num_kv_heads=HELD, softcap=cap)
    return out


def store(batch: int, length: int) -> object:
    """All tokens into pages, and where they go."""
    tokens = batch * length
    places = torch.arange(tokens, device=DEVICE) % (PAGES * PAGE)
    keys = [plain(tokens, HELD, HEAD, dtype=torch.float16) for _ in "kv"]
    call("reshape_and_cache", "reshape_and_cache", *keys, cache(HELD), cache(HELD), places, "auto")
    starts = torch.arange(batch + 1, device=DEVICE, dtype=torch.int32) * length
    positions = torch.arange(length, device=DEVICE).repeat(batch)
    made = starts, positions, page_table(batch, length), PAGE, torch.empty_like(positions)
    return call("compute_slot_mapping", "compute_slot_mapping", *made)


def layers(batch: int, length: int) -> object:
    """Tokens looked up, normed, gated and rotated."""
    tokens = torch.randint(VOCABULARY, (batch * length,), device=DEVICE)
    found = call("embedding", "embedding", tokens, plain(VOCABULARY, HIDDEN))
    call("rms_norm", "rms_norm", torch.empty_like(found), found, plain(HIDDEN), 1e-6)
    call("rms_norm", "fused_add_rms_norm", found, torch.empty_like(found), plain(HIDDEN), 1e-6)
    call("activation", "silu_and_mul", plain(batch * length, 2 * HIDDEN))
    rotate = importlib.import_module("vllm.model_executor.layers.rotary_embedding.mrope").triton_mrope
    made = plain(batch * length, HEADS * HEAD), plain(batch * length, HELD * HEAD)
    angles = plain(3, batch * length, HEAD // 2), plain(3, batch * length, HEAD // 2)
    return rotate(*made, *angles, [8, 12, 12], HEAD, HEAD, mrope_interleaved=True)


def experts(batch: int, length: int, name: str) -> object:
    """A layer of experts whose weights have four bits."""
    tokens = batch * length
    routes = plain(tokens, CHOSEN), torch.randint(EXPERTS, (tokens, CHOSEN), device=DEVICE)
    weights = *weight(EXPERTS, 2 * WIDE, HIDDEN), *weight(EXPERTS, HIDDEN, WIDE)
    given = plain(tokens, HIDDEN), *routes, *weights
    made, ran, reason = call("gemma4_moe_int4", name, *given, intermediate_dim=WIDE)
    if not ran:
        raise ValueError(reason)
    return made


def multiply(batch: int, length: int) -> object:
    """Tokens times a weight of four bits."""
    made = plain(batch * length, HIDDEN), *weight(WIDE, HIDDEN)
    return call("awq_fused_gemm", "packed_int4_symmetric_fused_gemm", *made, GROUP)


def multiply_shifted(batch: int, length: int) -> object:
    """Tokens times a weight of four bits with zeros of its own, without and with a norm."""
    tokens, (codes, scales) = plain(batch * length, HIDDEN), weight(WIDE, HIDDEN)
    made = tokens, codes, scales, packed(WIDE, HIDDEN // GROUP // 8), GROUP
    call("awq_fused_gemm", "awq_fused_gemm", *made)
    return call("rmsnorm_awq_fused", "rmsnorm_awq_fused_linear", *made, plain(HIDDEN))


def project(batch: int, _: int) -> object:
    """A few tokens' queries, keys and values."""
    codes, scales = zip(*(weight(rows * HEAD, HIDDEN) for rows in (HEADS, HELD, HELD)), strict=True)
    name = f"packed_int4_symmetric_fused_qkv_m{batch}"
    return call("awq_fused_gemm", name, plain(batch, HIDDEN), *codes, *scales, GROUP)


def window(_: int, length: int) -> object:
    """One token to the last rows."""
    made = whole(HEADS, LATENT), whole(length, LATENT), whole(HEADS)
    return call("deepseek_v4_flash.attention", "deepseek_v4_fused_sliding_window_attention", *made)


def compressed(_: int, length: int) -> object:
    """One token to those rows that an index chose."""
    index = whole(HEADS, 128), whole(length, 128), whole(HEADS)
    scores = call("deepseek_v4_flash.compressed_indexer_select", "deepseek_v4_indexer_select_scores", *index)
    chosen = scores.topk(min(64, length)).indices
    made = whole(LATENT), whole(length, LATENT), chosen
    return call("deepseek_v4_flash.compressed_attention_triton", "deepseek_v4_compressed_attention_triton", *made)


def keep(_: int, length: int) -> object:
    """The row of a token into its page."""
    module = importlib.import_module("vllm.kernels.triton.deepseek_v4_flash.cache")
    pages = whole(PAGES, ROWS, LATENT)
    rows = torch.arange(LONGEST, device=DEVICE) // ROWS
    row = module.DeepSeekV4CacheUpdateInputs(rows, whole(LATENT), pages, length - 1)
    return module.deepseek_v4_cache_update(row)


OPERATORS = {
    "attend": attend,
    "store": store,
    "layers": layers,
    "experts": lambda batch, length: experts(batch, length, "gemma4_moe_int4_decode_batched"),
    "experts_grouped": lambda batch, length: experts(batch, length, "gemma4_moe_int4_decode_batched_grouped"),
    "experts_prompt": lambda batch, length: experts(batch, length, "gemma4_moe_int4_prefill_grouped"),
    "multiply": multiply,
    "multiply_shifted": multiply_shifted,
    "project": project,
    "window": window,
    "compressed": compressed,
    "keep": keep,
}
SHAPES_OF = {
    "experts": STEPS,
    "experts_grouped": STEPS,
    "project": STEPS[:2],
    "window": KEPT,
    "compressed": KEPT,
    "keep": KEPT,
}

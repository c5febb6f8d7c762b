"""Sparse-vLLM's caches, clusters and sparse views of keys, norms, rotations, routes and attention."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEADS, HIDDEN, PAGE, PAGES, lengths, plain, starts

REPOSITORY = "CURRENTF/Sparse-vLLM"
COMMIT = "18d31049d3380d65d2260ae2226b57af73910fa0"
FOLDERS = ("src",)
HEAD, HELD, SLOTS, CENTERS, CHOSEN, EXPERTS = 64, HEADS // 2, PAGE * PAGES, 64, 4, 128
SHAPES_OF = {"packed": ((1, 128), (2, 256), (3, 384), (5, 512), (6, 640), (7, 896), (4, 1280), (2, 1664))}


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"sparsevllm.kernels.triton.{module}"), name)(*arguments, **more)


def slots(tokens: int) -> torch.Tensor:
    """A slot of the cache for each token."""
    return torch.arange(tokens, device=DEVICE, dtype=torch.int32) % SLOTS


def held() -> torch.Tensor:
    """Keys or values of all slots."""
    return plain(SLOTS, HELD, HEAD)


def norms(batch: int, length: int) -> object:
    """Norms, gates and rotations of all tokens."""
    tokens = plain(batch * length, HIDDEN)
    call("gemma4_rmsnorm", "gemma4_rmsnorm", tokens, plain(HIDDEN), 1e-6)
    call("rmsnorm", "rmsnorm_forward", tokens, plain(HIDDEN), 1e-6)
    call("rmsnorm", "fused_add_rmsnorm_forward", tokens, plain(batch * length, HIDDEN), plain(HIDDEN), 1e-6)
    call("gemma4_gelu_and_mul", "gelu_tanh_and_mul_fwd", plain(batch * length, 2 * HIDDEN))
    call("silu_and_mul", "silu_and_mul_fwd", plain(batch * length, 2 * HIDDEN))
    angles = plain(batch * length, HEAD // 2), plain(batch * length, HEAD // 2)
    made = plain(batch * length, HEADS, HEAD), plain(batch * length, HELD, HEAD)
    return call("rotary_emb", "rotary_emb_fwd", *made, *angles)


def prefill(batch: int, length: int) -> object:
    """Attention of prompts to the cache, after their keys are put there."""
    tokens = batch * length
    keys, values = plain(tokens, HELD, HEAD), plain(tokens, HELD, HEAD)
    call("store_kvcache", "store_kvcache", keys, values, held(), held(), slots(tokens))
    query = plain(tokens, HEADS, HEAD)
    rows = torch.arange(batch, device=DEVICE, dtype=torch.int32)
    sizes = torch.full((batch,), length, device=DEVICE, dtype=torch.int32)
    before = torch.zeros(batch, device=DEVICE, dtype=torch.int32)
    table = slots(tokens).view(batch, length)
    made = query, held(), held(), torch.empty_like(query), rows, starts([length] * batch)[:-1], sizes, before
    return call("context_flashattention_nopad", "context_attention_fwd", *made, length, table)


def decode(batch: int, length: int) -> object:
    """One query for each sequence against the cache, in blocks."""
    block = 64
    blocks = -(-length // block)
    query = plain(batch, HEADS, HEAD)
    rows = torch.arange(batch, device=DEVICE, dtype=torch.int32)
    sizes = torch.tensor(lengths(batch, length), device=DEVICE, dtype=torch.int32)
    table = slots(batch * length).view(batch, length)
    parts = plain(batch, HEADS, blocks, HEAD, dtype=torch.float32), plain(batch, HEADS, blocks, dtype=torch.float32)
    keys = held(), held()
    call("flash_decoding_stage1", "flash_decode_stage1", query, *keys, table, rows, sizes, length, *parts, block)
    call("gqa_flash_decoding_stage1", "flash_decode_stage1", query, *keys, table, rows, sizes, length, *parts, block)
    return call("flash_decoding_stage2", "flash_decode_stage2", *parts, sizes, torch.empty_like(query), block)


def clusters(batch: int, length: int) -> object:
    """Tokens by their nearest centers."""
    tokens = plain(batch, length, HEAD), plain(batch, CENTERS, HEAD)
    call("deltakv_kernels", "batch_l2_distance", *tokens)
    chosen = torch.zeros(batch, length, CHOSEN, device=DEVICE, dtype=torch.int32)
    call("deltakv_kernels", "batch_gather_mean", plain(CENTERS, HEAD), chosen)
    flat = plain(batch * length, HIDDEN), plain(CENTERS, HIDDEN), chosen.view(batch * length, CHOSEN)
    call("deltakv_kernels", "batch_reconstruct_kv", *flat)
    made = {"tokens": plain(batch * length, HIDDEN), "centers": plain(CENTERS, HIDDEN)}
    return call("deltakv_kernels", "deltakv_l2_topk_blockwise", **made, m0=CENTERS, cluster_step=10, k=CHOSEN)


def caches(batch: int, length: int) -> object:
    """Keys gathered from the cache, and written back."""
    tokens = batch * length
    places, table = slots(tokens), plain(4096, HEAD)
    kept = {"cos_sin": table, "k_cache": held(), "v_cache": held()}
    call("deltakv_kernels", "deltakv_gather_raw_kv", slots=places, pos=places, **kept)
    fathers = torch.zeros(tokens, CHOSEN, device=DEVICE, dtype=torch.int32)
    made = plain(tokens, 2 * HELD * HEAD), fathers, slots(SLOTS), places, places, *kept.values()
    return call("deltakv_kernels", "deltakv_reconstruct_writeback", *made)


def packed(batch: int, length: int) -> object:
    """Values in four bits."""
    data = plain(batch, HELD, HEAD, length, dtype=torch.float16)
    return call("quant", "triton_quantize_and_pack_along_last_dim", data, 32, 4)


def experts(batch: int, length: int) -> object:
    """Tokens through their experts."""
    tokens = batch * length
    weights, chosen = call("moe_topk", "topk_softmax", plain(tokens, EXPERTS), top_k=8, norm_topk_prob=True)
    made = plain(tokens, HIDDEN), plain(EXPERTS, 2 * 256, HIDDEN), plain(EXPERTS, HIDDEN, 256)
    return call("moe", "fused_moe", *made, chosen, weights, num_experts=EXPERTS, local_expert_start=0)


OPERATORS = {
    "norms": norms,
    "prefill": prefill,
    "decode": decode,
    "clusters": clusters,
    "caches": caches,
    "packed": packed,
    "experts": experts,
}

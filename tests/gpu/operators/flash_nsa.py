"""flash_nsa's native sparse attention, without its window, in training and of a cache in pages."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, counts, lengths, normal, plain, starts

REPOSITORY = "mdy666/Scalable-Flash-Native-Sparse-Attention"
COMMIT = "fcf117c3c8a12e274aa75f2a01b0d12d76f44128"
UNUSED = ("pandas", "pkg_resources")
HEADS, HELD, HEAD, HIDDEN, WIDE, PAGE, PAGES, KERNEL, STRIDE = 32, 2, 64, 512, 1024, 128, 64, 32, 16
# Compressed keys are of some tokens at least.
SHAPES = ((1, 64), (2, 100), (3, 128), (5, 200), (6, 333), (1, 512), (2, 777), (4, 1000))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"flash_nsa.{module}"), name)(*arguments, **more)


def sparse(batch: int, length: int, keys: str, values: str) -> object:
    """Packed sequences through all parts that are Triton's, forward and backward."""
    many = lengths(batch, length)
    sizes = {"head_dim": HEAD, "num_heads": HEADS, "num_kv_heads": HELD, "top_n": 4}
    config = call("config", "NSAConfig", HIDDEN, **sizes, cmp_k_method=keys, cmp_v_method=values)
    core = call("modules.hf_level_nsa", "HFNSACore", config).to(DEVICE, torch.bfloat16)
    importlib.import_module("flash_nsa.utils").NSAHelper.init_cu_seqlens(starts(many))
    query, key, value = normal(sum(many), HEADS, HEAD), normal(sum(many), HELD, HEAD), normal(sum(many), HELD, HEAD)
    held = core.compress_k(key), core.compress_v(value)
    coarse, scores = call("ops.compress_attn", "compress_attn", query, *held, sm_scale=core.sm_scale)
    best, _ = call("ops.topk", "slc_topk_indices", query, held[0], scores, sm_scale=core.sm_scale)
    fine = call("ops.select_attn", "select_attn", query, key, value, best, sm_scale=core.sm_scale)
    weights = normal(sum(many), HEADS, 3)
    return call("ops.combine", "fused_sigmoid_combine", coarse, fine, plain(*fine.shape), weights)


def means(batch: int, length: int) -> object:
    """Means of keys and values."""
    return sparse(batch, length, "mean", "mean")


def learned(batch: int, length: int) -> object:
    """Keys and values by gated layers."""
    return sparse(batch, length, "swiglu", "sigmoid-mul")


def rotate(batch: int, length: int) -> object:
    """Queries and keys rotated, forward and backward."""
    made = normal(batch, length, HEADS, HEAD), normal(batch, length, HELD, HEAD)
    angles = plain(batch, length, HEAD), plain(batch, length, HEAD)
    return call("ops.rope", "fused_apply_rope", *made, *angles)


def product(batch: int, length: int) -> object:
    """All tokens times the weights of a layer."""
    made = plain(batch * length, HIDDEN), plain(WIDE, HIDDEN)
    call("ops.gemm", "gemm", *made)
    return call("ops.gemm", "gemm", *made, persistent=True)


def paged(batch: int, length: int) -> dict[str, torch.Tensor]:
    """How long each sequence is, and its pages of keys and of compressed ones."""
    wide, coarse = -(-length // PAGE), -(-length // STRIDE // PAGE)
    tables = [torch.arange(batch * many, device=DEVICE, dtype=torch.int32) % PAGES for many in (wide, coarse)]
    pages = {"block_tables": tables[0].view(batch, wide), "cmp_block_tables": tables[1].view(batch, coarse)}
    return pages | {"context_lens": counts(lengths(batch, length))}


def decode(batch: int, length: int) -> object:
    """The token after `length` cached ones."""
    held = [plain(PAGES, PAGE, HELD, HEAD) for _ in range(2)]
    slots = torch.arange(batch, device=DEVICE, dtype=torch.int32)
    made = plain(batch, HEADS, HEAD), *held, plain(batch, HEADS, 3)
    return call("inference", "nsa_decode", *made, cmp_slot_mapping=slots, **paged(batch, length))


def prefill(batch: int, length: int) -> object:
    """Packed prompts through all parts that are Triton's."""
    many, pages = lengths(batch, length), paged(batch, length)
    coarse = [max(0, (one - KERNEL) // STRIDE + 1) for one in many]
    held = [plain(PAGES, PAGE, HELD, HEAD) for _ in range(2)]
    query, begins, most = plain(sum(many), HEADS, HEAD), starts(many), (max(many), max(coarse))
    slots = torch.arange(sum(coarse), device=DEVICE, dtype=torch.int32)
    for one in held:
        into = {"slot_mapping": slots, "block_table": pages["block_tables"]}
        call("inference", "mean_pooling_prefill", one, starts(coarse), most[1], **into)
    fine = {"block_tables": pages["block_tables"], "context_lens": pages["context_lens"]}
    less = {"block_tables": pages["cmp_block_tables"], "context_lens": pages["context_lens"]}
    first, scores = call("inference", "cmp_attn_prefill", query, *held, begins, most[0], **less)
    best = call("inference", "topk_prefill", query, held[0], scores, begins, *most, **less)
    second, _ = call("inference", "slc_attn_prefill", query, *held, best, begins, most[0], **fine)
    return call("inference", "combine_prefill", first, second, plain(*first.shape), plain(sum(many), HEADS, 3))


OPERATORS = {
    "means": means,
    "learned": learned,
    "rotate": rotate,
    "product": product,
    "decode": decode,
    "prefill": prefill,
}

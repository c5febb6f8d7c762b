"""fastdms' compact keys and values, and its products of eight bits for few rows."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, PAGE, VOCABULARY, counts, plain

PACKAGE = Package("fastdms", "0.2.0")
BARE = ("fastdms", "fastdms.layers", "fastdms.engine", "fastdms.utils")
UNUSED = ("flash_attn",)
HELD, SLOTS, WINDOW, CANDIDATES, WIDE = HEADS // 2, 4096, 16, 8, 256
FEW = ((1, 1), (1, 2), (1, 3), (1, 5), (1, 7), (2, 4), (3, 3), (2, 6), (3, 5), (4, 4))
SHAPES_OF = {"few-rows": FEW}


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"fastdms.{module}"), name)(*arguments, **more)


def decisions(batch: int, length: int) -> object:
    """Which tokens are to leave, by a channel of each query."""
    sizes = {"num_kv_heads": HELD, "num_qo_heads": HEADS, "head_dim": HEAD, "alpha_scale": 1.0, "alpha_offset": 0.0}
    return call("engine.dms", "extract_dms_eviction_decisions", plain(batch * length, HEADS, HEAD), **sizes)


def store(batch: int, length: int) -> object:
    """The keys and values of all tokens into pages."""
    tokens = batch * length
    pages = [plain(SLOTS // PAGE, PAGE, HELD * HEAD) for _ in range(2)]
    made = plain(tokens, HELD, HEAD), plain(tokens, HELD, HEAD), *pages
    slots = torch.arange(tokens, device=DEVICE, dtype=torch.int32)
    return call("layers.attention", "store_kvcache", *made, slots)


def store_compact(batch: int, length: int) -> object:
    """One token of each sequence."""
    made = plain(batch, HELD, HEAD), plain(batch, HELD, HEAD), plain(SLOTS, HEAD), plain(SLOTS, HEAD)
    slots = torch.zeros(batch, HELD, device=DEVICE, dtype=torch.int32)
    return call("layers.compact_attention", "store_compact_kvcache", *made, slots)


def rotate_and_store(batch: int, length: int) -> object:
    """One token of each sequence, rotated first; its position is `length`."""
    made = plain(batch, HEADS, HEAD), plain(batch, HELD, HEAD), plain(batch, HELD, HEAD)
    angles = plain(SLOTS, 1, HEAD, dtype=torch.float32)
    slots = torch.zeros(batch, HELD, device=DEVICE, dtype=torch.int32)
    leaves = torch.zeros(batch, HELD, device=DEVICE, dtype=torch.bool)
    caches = plain(SLOTS, HEAD), plain(SLOTS, HEAD)
    numbers = {"num_kv_heads": HELD, "alpha_scale": 1.0, "alpha_offset": 0.0}
    return call(
        "layers.compact_attention",
        "fused_dms_rope_store_compact_decode",
        *made,
        angles,
        *caches,
        slots,
        leaves,
        counts([length] * batch),
        **numbers,
    )


def attend(batch: int, length: int) -> object:
    """One token of each sequence against `length` keys of each head."""
    total = batch * HELD * length
    begins = (torch.arange(batch * HELD, device=DEVICE, dtype=torch.int32) * length).view(batch, HELD)
    made = plain(batch, HEADS, HEAD), plain(total, HEAD), plain(total, HEAD), begins
    alive = torch.full((batch, HELD), length, device=DEVICE, dtype=torch.int32)
    return call("layers.compact_attention", "compact_decode_attention", *made, alive, max_live_count=length)


def expire(name: str) -> Any:
    """Tokens that leave the window; there is room for `length` of each head."""

    def run(batch: int, length: int) -> object:
        total = batch * HELD * length
        return call(
            "layers.compact_attention",
            name,
            positions_per_lh=torch.zeros(batch, HELD, length, device=DEVICE, dtype=torch.int32),
            evict_per_lh=torch.zeros(batch, HELD, length, device=DEVICE, dtype=torch.bool),
            live_counts=torch.full((batch, HELD), length, device=DEVICE, dtype=torch.int32),
            base_offsets=(torch.arange(batch * HELD, device=DEVICE, dtype=torch.int32) * length).view(batch, HELD),
            compact_k=plain(total, HEAD),
            compact_v=plain(total, HEAD),
            current_positions=counts([length] * batch),
            window_size=WINDOW,
        )

    return run


def weight(wide: int) -> dict[str, torch.Tensor]:
    """A weight of eight bits."""
    codes = plain(wide, HIDDEN).to(torch.float8_e4m3fn).t()
    return {"weight_fp8_t": codes, "weight_scale_inv": torch.ones(1, wide, device=DEVICE)}


def few_rows(batch: int, length: int) -> object:
    """A few tokens against a weight."""
    call("layers.linear", "_fp8_row1_matvec", plain(1, HIDDEN), **weight(WIDE))
    return call("layers.linear", "_fp8_small_m_linear", plain(batch * length, HIDDEN), max_rows=16, **weight(WIDE))


def next_token(batch: int, length: int) -> object:
    """The likeliest token, of all and of some."""
    call("layers.embed_head", "_fp8_row1_argmax", plain(1, HIDDEN), **weight(VOCABULARY))
    chosen = torch.arange(CANDIDATES, device=DEVICE)
    return call("layers.embed_head", "_fp8_row1_rerank_topk", plain(1, HIDDEN), chosen, **weight(VOCABULARY))


OPERATORS = {
    "decisions": decisions,
    "store": store,
    "store-compact": store_compact,
    "rotate-and-store": rotate_and_store,
    "attend": attend,
    "expire": expire("dms_expiry_one_layer"),
    "expire-one": expire("dms_expiry_incremental_one_layer"),
    "few-rows": few_rows,
    "next-token": next_token,
}

"""ColossalAI's kernels for inference and its activation."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import (
    DEVICE,
    HEAD,
    HEADS,
    HIDDEN,
    PAGE,
    PAGES,
    counts,
    lengths,
    normal,
    page_table,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "hpcaitech/ColossalAI"
COMMIT = "4f9953be335ef371b3848719ddafe596c01ecd37"
BARE = ("colossalai", "colossalai.kernel")
HALF = torch.float16
PACKED = 8


def of(name: str) -> object:
    """One function of the kernels."""
    return getattr(importlib.import_module("colossalai.kernel.triton"), name)


def half(*shape: int) -> torch.Tensor:
    """A random tensor in half precision."""
    return plain(*shape, dtype=HALF)


def caches(*, new: bool) -> list[torch.Tensor]:
    """Keys and values in pages; `new` with the keys split."""
    values = half(PAGES, HEADS, PAGE, HEAD)
    return [half(PAGES, HEADS, HEAD // PACKED, PAGE, PACKED) if new else torch.empty_like(values), values]


def prefill(*, new: bool = False, alibi: bool = False) -> Callable[[int, int], object]:
    """Attention of prompts, which fills the cache."""

    def call(batch: int, length: int) -> object:
        each = lengths(batch, length)
        made = (half(sum(each), HEADS, HEAD) for _ in range(3))
        slopes = torch.rand(HEADS, device=DEVICE) if alibi else None
        where = counts(each), page_table(batch, length), PAGE
        named = {"alibi_slopes": slopes, "max_seq_len": max(each), "use_new_kcache_layout": new}
        return of("context_attention_unpadded")(*made, *caches(new=new), *where, **named)

    return call


def decode(*, new: bool = False, queries: int = 1) -> Callable[[int, int], object]:
    """Attention of new tokens to the cache, whose length is read from the device."""

    def call(batch: int, length: int) -> object:
        query = half(batch * queries, HEADS, HEAD)
        each = counts([max(queries, one) for one in lengths(batch, length)])
        where = each, page_table(batch, length), PAGE
        named = {"q_len": queries, "use_new_kcache_layout": new}
        return of("flash_decoding_attention")(query, *caches(new=new), *where, **named)

    return call


def copy_keys(batch: int, length: int) -> object:
    each = counts(lengths(batch, length))
    keys = half(batch, HEADS, HEAD)
    return of("copy_k_to_blocked_cache")(keys, caches(new=False)[0], each, page_table(batch, length))


def copy_both(*, new: bool) -> Callable[[int, int], object]:
    """Keys and values of one token each, into the cache."""

    def call(batch: int, length: int) -> object:
        states = [half(batch, HEADS, HEAD) for _ in range(2)]
        where = counts(lengths(batch, length)), page_table(batch, length)
        return of("copy_kv_to_blocked_cache")(*states, *caches(new=new), *where, use_new_kcache_layout=new)

    return call


def rotary(batch: int, length: int) -> object:
    states = [half(batch * length, HEADS, HEAD) for _ in range(2)]
    return of("rotary_embedding")(*states, *(half(batch * length, HEAD // 2) for _ in range(2)))


def rotary_decode(batch: int, length: int) -> object:
    states = [half(batch, HEADS, HEAD) for _ in range(3)]
    angles = [half(batch, HEAD // 2) for _ in range(2)]
    where = page_table(batch, length), counts(lengths(batch, length))
    return of("decoding_fused_rotary_embedding")(*states, *angles, *caches(new=False), *where)


def rotary_fused(batch: int, length: int) -> object:
    each = lengths(batch, length)
    states = [half(sum(each), HEADS, HEAD) for _ in range(2)]
    return of("fused_rotary_embedding")(*states, *(half(length, HEAD // 2) for _ in range(2)), counts(each))


def angles(*, prompts: bool) -> Callable[[int, int], object]:
    """The cosines and sines of each token, gathered."""

    def call(batch: int, length: int) -> object:
        kept = [half(2048, HEAD) for _ in range(2)]
        return of("get_xine_cache")(counts(lengths(batch, length)), *kept, is_prompts=prompts)

    return call


def rms_norm(batch: int, length: int) -> object:
    rows = half(batch * length, HIDDEN)
    of("rms_layernorm")(rows, half(HIDDEN), 1e-6)
    return of("rms_layernorm")(rows, half(HIDDEN), 1e-6, residual=torch.empty_like(rows))


def softmax(batch: int, length: int) -> object:
    return of("softmax")(half(batch, HEADS, length, length))


def activation(batch: int, length: int) -> object:
    function = importlib.import_module("colossalai.kernel.triton.llama_act_combine_kernel").LlamaActCombine.apply
    return function(normal(batch, length, 2 * HIDDEN), normal(batch, length, HIDDEN))


OPERATORS = {
    "prefill": prefill(),
    "prefill-new-layout": prefill(new=True),
    "prefill-alibi": prefill(alibi=True),
    "decode": decode(),
    "decode-new-layout": decode(new=True),
    "decode-many": decode(queries=4),
    "copy-keys": copy_keys,
    "copy-both": copy_both(new=False),
    "copy-both-new-layout": copy_both(new=True),
    "rotary": rotary,
    "rotary-decode": rotary_decode,
    "rotary-fused": rotary_fused,
    "angles-prompt": angles(prompts=True),
    "angles-decode": angles(prompts=False),
    "rms-norm": rms_norm,
    "softmax": softmax,
    "activation": activation,
}

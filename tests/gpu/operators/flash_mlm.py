"""flash-mlm's attention that looks both ways."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, counts, lengths, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("flash-mlm", "1.2.3")


def inputs(batch: int, length: int) -> list[torch.Tensor]:
    """Queries, keys and values."""
    return [plain(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(3)]


def dense(*, latent: bool) -> Callable[[int, int], object]:
    """Attention of sequences of one length; `latent` where keys are the values."""

    def call(batch: int, length: int) -> object:
        q, k, v = inputs(batch, length)
        function = importlib.import_module("flash_mlm.host").flash_attn_mlm
        return function(q, k, k if latent else v, scale=0.5, is_mla=latent, block_m=32, block_n=32)

    return call


def compressed(batch: int, length: int) -> object:
    """Attention of sequences of several lengths, beside an empty cache."""
    host, utilities = importlib.import_module("flash_mlm.host"), importlib.import_module("flash_mlm.host.host_utils")
    cache = importlib.import_module("flash_mlm.host.cache").InferenceCache()
    empty = torch.empty(0, HEAD, device=DEVICE, dtype=torch.float16)
    where = {"total_context_len": 0, "cu_seqlens_kv": counts([0] * (batch + 1)), "context_batch_size": batch}
    sizes = {"is_mla": False, "num_heads": HEADS, "head_dim": HEAD}
    cache.prefill_kv_cache(layer_id=0, k_cache=empty, v_cache=empty.clone(), **where, **sizes)
    packing = utilities.build_pack_metadata(counts(lengths(batch, length)), length, block_n=32)
    more = {"q_meta": packing, "inference_cache": cache, "layer_id": 0, "is_mla": False}
    blocks = {"block_m": 32, "block_n": 32}
    return host.flash_attn_mlm_compressed(*inputs(batch, length), num_heads=HEADS, scale=0.5, **more, **blocks)


OPERATORS = {"dense": dense(latent=False), "dense-latent": dense(latent=True), "compressed": compressed}

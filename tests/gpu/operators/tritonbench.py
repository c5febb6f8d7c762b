"""Kernels that TritonBench has collected from other projects: those that take a length when they compile."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import ANY, CHUNKS, DEVICE, HEAD, HEADS, counts, lengths, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "thunlp/TritonBench"
COMMIT = "603e28a5050e8c268f6883a69709d477a272d49a"
FOLDERS = ("data/TritonBench_G_v1",)
SHAPES = CHUNKS
SINGLE, HALF = torch.float32, torch.float16
BLOCK = 32


def of(module: str, name: str) -> Callable[..., object]:
    """One function of one file, which tests itself when it is imported."""
    return getattr(importlib.import_module(module), name)


def states(batch: int, length: int, dtype: torch.dtype = SINGLE) -> list[torch.Tensor]:
    """Queries, keys and values that want their gradients."""
    return [normal(batch, HEADS, length, HEAD, dtype=dtype) for _ in range(3)]


def quantized(module: str) -> Callable[[int, int], object]:
    """Attention with a scale for each token."""

    def call(batch: int, length: int) -> object:
        made = (plain(batch, HEADS, length, 128, dtype=HALF) for _ in range(3))
        scales = (torch.ones(batch, HEADS, length, device=DEVICE) for _ in range(2))
        return of(module, "forward")(*made, *scales)

    return call


def chunked(module: str, name: str, **options: object) -> Callable[[int, int], object]:
    """Linear attention in chunks, forward and backward."""
    return lambda batch, length: of(module, name)(*states(batch, length), **options)


def stored(*, store: bool, masked: bool) -> Callable[[int, int], object]:
    """Attention over chunks, whose states are kept or not."""

    def call(batch: int, length: int) -> object:
        made = (plain(batch, HEADS, length, HEAD, dtype=SINGLE) for _ in range(3))
        return of("attention_fwd_triton1", "AttentionFunction").apply(*made, store, masked)

    return call


def retention(batch: int, length: int) -> object:
    query, key, value = states(batch, length)
    return of("chunk_retention", "chunk_retention")(query, key.transpose(-1, -2).contiguous(), value)


def gradients(batch: int, length: int) -> object:
    """The gradients of gated attention in chunks."""
    blocks = length // BLOCK
    query, key, value, grad = (plain(batch, HEADS, length, HEAD, dtype=SINGLE) for _ in range(4))
    gate = plain(batch, HEADS, length, dtype=SINGLE)
    kept = (plain(batch, HEADS, blocks * HEAD, HEAD, dtype=SINGLE) for _ in range(2))
    return of("chunk_bwd_dqkg", "chunk_bwd_dqkg_fn")(grad, query, key, value, gate, *kept, 0.1)


def delta(batch: int, length: int) -> object:
    made = (plain(batch, HEADS, length, HEAD, dtype=SINGLE) for _ in range(3))
    return of("chunk_delta_fwd", "chunk_fwd_h_fn")(*made, BLOCK, None, None)


def gated(batch: int, length: int) -> object:
    sizes = {"B": batch, "H": HEADS, "T": length}
    of("chunk_gated_attention", "fwd_pre")(plain(batch, HEADS, length, HEAD, dtype=HALF), **sizes, S=HEAD, BT=BLOCK)
    key = plain(batch, HEADS, HEAD, length, dtype=HALF)
    query, value, gate = (plain(batch, HEADS, length, HEAD, dtype=HALF) for _ in range(3))
    sizes |= {"K": HEAD, "V": HEAD, "BT": BLOCK, "BK": 16, "BV": 16}
    return of("chunk_gated_attention", "fwd_inner")(query, key, value, gate, **sizes)


def gated_inner(batch: int, length: int) -> object:
    made = (plain(batch, HEADS, length, HEAD, dtype=SINGLE) for _ in range(3))
    return of("chunk_gla_fwd", "chunk_fwd_intra_gated_gk_fn")(*made, 1.0, 16)


def gated_output(batch: int, length: int) -> object:
    kept = plain(batch, HEADS, (length // BLOCK) * HEAD, HEAD, dtype=SINGLE)
    made = (plain(batch, HEADS, length, HEAD, dtype=SINGLE) for _ in range(3))
    return of("chunk_gla_simple", "chunk_fwd_o_fn")(kept, *made, plain(batch, HEADS, length, dtype=SINGLE), BLOCK, 0.1)


def sums(module: str, name: str, *, vector: bool) -> Callable[[int, int], object]:
    """Sums over a whole sequence."""

    def call(batch: int, length: int) -> object:
        return of(module, name)(plain(batch, HEADS, length, *([HEAD] if vector else []), dtype=SINGLE))

    return call


def hgrn(batch: int, length: int) -> object:
    made = (normal(batch, HEADS, length, HEAD, dtype=SINGLE) for _ in range(2))
    return of("fused_recurrent_hgrn", "fused_recurrent_hgrn")(*made)


def rwkv(batch: int, length: int) -> object:
    made = (plain(batch, HEADS, length, HEAD, dtype=SINGLE) for _ in range(4))
    return of("fused_rwkv6_kernel", "fused_recurrent_rwkv6")(*made, plain(HEADS, HEAD, dtype=SINGLE), scale=0.5)


def lightning(batch: int, length: int) -> object:
    query, key, _ = states(batch, length)
    value = normal(batch, HEADS, length, 2 * HEAD, dtype=SINGLE)
    return of("lightning_attention", "lightning_attn2_no_decay")(query, key, value)


def angles(batch: int, length: int) -> object:
    kept = (plain(2048, HEAD, dtype=SINGLE) for _ in range(2))
    return of("cache_transform_triton", "get_xine_cache")(counts(lengths(batch, length)), *kept, is_prompts=False)


OPERATORS = {
    "attention-scaled": quantized("attention_forward_triton"),
    "attention-scaled-2": quantized("attention_fwd_triton2"),
    "attention-scaled-causal": quantized("attn_fwd_causal"),
    "attention-scaled-3": quantized("attn_fwd_triton"),
    "attention-chunks": stored(store=False, masked=False),
    "attention-chunks-stored": stored(store=True, masked=True),
    "linear-attention": chunked("chunk_linear_attn", "chunk_linear_attn", normalize=False),
    "linear-attention-norm": chunked("chunk_linear_attn", "chunk_linear_attn"),
    "retention": retention,
    "retention-ops": chunked("chunk_retention_ops", "chunk_retention"),
    "retention-state": chunked("chunk_retention_ops", "chunk_retention", output_final_state=True, checkpoint_level=0),
    "rebased": chunked("parallel_attention", "parallel_rebased"),
    "gradients": gradients,
    "delta": delta,
    "gated": gated,
    "gated-inner": gated_inner,
    "gated-output": gated_output,
    "sum-scalar": sums("chunk_cumsum_kernel", "chunk_global_cumsum_scalar", vector=False),
    "sum-vector": sums("chunk_cumsum_vector", "chunk_global_cumsum_vector", vector=True),
    "reversed-sum-scalar": sums("reversed_cumsum_scalar", "chunk_global_reversed_cumsum_scalar", vector=False),
    "reversed-sum-vector": sums("reversed_cumsum", "chunk_global_reversed_cumsum_vector", vector=True),
    "hgrn": hgrn,
    "rwkv": rwkv,
    "lightning": lightning,
    "angles": angles,
    "logsumexp": lambda batch, length: of("logsumexp_fwd", "logsumexp_fwd")(plain(batch * HEADS, length, dtype=SINGLE)),
    "matmul": lambda batch, length: of("matmul_persistent_triton", "matmul_persistent")(
        plain(batch * length, 512, dtype=HALF), plain(512, 256, dtype=HALF)
    ),
}
SHAPES_OF = dict.fromkeys(
    ("sum-scalar", "sum-vector", "reversed-sum-scalar", "reversed-sum-vector", "hgrn", "angles", "logsumexp"), ANY
)

"""Sparse-VideoGen's norms, modulations, permutations, placements of heads, clusters and attention between them."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEADS, HIDDEN, plain

REPOSITORY = "svg-project/Sparse-VideoGen"
COMMIT = "5ce7b0127c0d44383ee8b9e5512431feb625f621"
BARE = ("svg", "svg.models", "svg.models.wan", "svg.models.cog", "svg.kernels")
UNUSED = ("flashinfer", "cuvs", "cuvs.cluster", "cuvs.cluster.kmeans", "pylibraft", "cupy")
HEAD, FRAMES, CONTEXT, CLUSTERS = 64, 4, 16, 8


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"svg.{module}"), name)(*arguments, **more)


def norms(batch: int, length: int) -> object:
    """Norms of all tokens, and their modulation."""
    tokens, scale = plain(batch, length, HIDDEN), plain(batch, 1, HIDDEN)
    call("kernels.triton.rmsnorm", "triton_rmsnorm_forward", tokens, plain(HIDDEN), 1e-6)
    call("kernels.triton.layernorm", "triton_layernorm_forward", tokens, plain(HIDDEN), plain(HIDDEN), 1e-6)
    call("kernels.triton.layernorm", "triton_layernorm_forward", tokens, None, None, 1e-6, False)
    call("kernels.triton.modulate", "triton_modulate_shift_forward", tokens, scale, scale)
    name = "triton_modulate_gate_residual_forward"
    return call("kernels.triton.modulate", name, tokens, plain(batch, length, HIDDEN), scale)


def place(module: str, prefix: str, batch: int, length: int) -> object:
    """The tokens of heads by frames or by places; a frame has `length` tokens."""
    made = [plain(batch, HEADS, CONTEXT + FRAMES * length, HEAD) for _ in range(6)]
    best = torch.zeros(batch, HEADS, device=DEVICE, dtype=torch.int64)
    call(module, f"{prefix}sparse_head_placement", *made, best, CONTEXT, FRAMES, length)
    return call(module, f"{prefix}hidden_states_placement", *made[:2], best, CONTEXT, FRAMES, length)


def place_wan(batch: int, length: int) -> object:
    """As Wan has them."""
    return place("models.wan.placement", "wan_", batch, length)


def place_cog(batch: int, length: int) -> object:
    """As CogVideo has them."""
    return place("models.cog.placement", "", batch, length)


def permute(batch: int, length: int) -> object:
    """Tokens sorted by their clusters, and back."""
    labels = torch.zeros(batch * HEADS, length, device=DEVICE, dtype=torch.int64)
    name = "permute_tensor_by_labels_triton"
    made = call("kernels.triton.permute", name, plain(batch, HEADS, length, HEAD), labels, 2)
    return call("kernels.triton.permute", "apply_inverse_permutation_triton", made[0], made[1], 2)


def clusters(batch: int, length: int) -> object:
    """Two rounds of k-means of the tokens of each head."""
    return call("kmeans_utils", "batch_kmeans_Euclid", plain(batch * HEADS, length, HEAD), CLUSTERS, max_iters=2)


def attention(batch: int, length: int) -> object:
    """Attention between chosen clusters."""
    made = [plain(batch, HEADS, length, HEAD) for _ in range(3)]
    chosen = torch.ones(batch, HEADS, CLUSTERS, CLUSTERS, device=DEVICE, dtype=torch.bool)
    sizes = torch.full((batch, HEADS, CLUSTERS), length // CLUSTERS, device=DEVICE, dtype=torch.int32)
    sizes[..., 0] += length % CLUSTERS
    return call("kmeans_utils", "dynamic_block_sparse_fwd_triton", *made, chosen, sizes, sizes)


OPERATORS = {
    "norms": norms,
    "place-wan": place_wan,
    "place-cog": place_cog,
    "permute": permute,
    "clusters": clusters,
    "attention": attention,
}

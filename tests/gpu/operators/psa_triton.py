"""Pyramid sparse attention of videos and of a language model, with its norms, modulations, clusters and orders."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, HIDDEN, normal, plain

REPOSITORY = "ziplab/Pyramid-Sparse-Attention"
COMMIT = "be122cfb7f32010682b1d70534670e5ef150a93d"
FOLDERS = ("src", "qwen2.5-vl-example/src/attention")
CLUSTERS = 32
SHAPES_OF = {"pyramid": CHUNKS, "levels": CHUNKS, "causal": CHUNKS}


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function or make an object of the library."""
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def kernel(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call one of the functions around attention."""
    return call(f"psa_triton.kernels.permute_related.{module}", name, *arguments, **more)


def heads(batch: int, length: int) -> list[torch.Tensor]:
    """Queries, keys and values."""
    return [normal(batch, HEADS, length, HEAD) for _ in range(3)]


@torch.no_grad()
def pyramid(batch: int, length: int) -> object:
    """Attention to keys of several levels."""
    return call("psa_triton", "psa_attention", *heads(batch, length))


def levels(batch: int, length: int) -> object:
    """Attention to levels that keys' likeness bounds, forward and backward."""
    config = call("psa_triton", "PSAConfig", block_n=128, use_sim_mask=True, attn_impl="old_mask_type")
    return call("psa_triton", "psa_attention", *heads(batch, length), config=config)


@torch.no_grad()
def causal(batch: int, length: int) -> object:
    """Attention of a language model to levels of the tokens before."""
    config = call("PSA_casual.PyramidAdaptiveBlockSparseAttn", "AttentionConfig", text_length=0)
    layer = call("PSA_casual.PyramidAdaptiveBlockSparseAttn", "PyramidAdaptiveBlockSparseAttnTrain", config)
    return layer(*heads(batch, length))


def norms(batch: int, length: int) -> object:
    """All tokens' norms, with and without weights."""
    tokens, weight, bias = plain(batch, length, HIDDEN), plain(HIDDEN), plain(HIDDEN)
    kernel("rmsnorm", "triton_rmsnorm_forward", tokens, weight, 1e-6)
    kernel("layernorm", "triton_layernorm_forward", tokens, weight, bias, 1e-6)
    return kernel("layernorm", "triton_layernorm_forward", tokens, None, None, 1e-6, elementwise_affine=False)


def modulate(batch: int, length: int) -> object:
    """All tokens scaled and shifted, and added to what went past."""
    tokens, weights = plain(batch, length, HIDDEN), [plain(1, HIDDEN) for _ in range(3)]
    kernel("modulate", "triton_modulate_shift_forward", tokens, *weights[:2])
    return kernel("modulate", "triton_modulate_gate_residual_forward", tokens, tokens, weights[2])


def cluster(batch: int, length: int) -> object:
    """Tokens given to the nearest centers, and new centers."""
    tokens = plain(batch * HEADS, length, HEAD)
    return kernel("kmeans_utils", "batch_kmeans_Euclid", tokens, CLUSTERS, max_iters=2)


def order(batch: int, length: int) -> object:
    """Tokens in the order of their clusters, and back."""
    labels = torch.zeros(batch * HEADS, length, device=DEVICE, dtype=torch.int64)
    tokens = plain(batch, HEADS, length, HEAD)
    ordered, places = kernel("permute", "permute_tensor_by_labels_triton", tokens, labels, 2)
    return kernel("permute", "apply_inverse_permutation_triton", ordered, places, 2)


OPERATORS = {
    "pyramid": pyramid,
    "levels": levels,
    "causal": causal,
    "norms": norms,
    "modulate": modulate,
    "cluster": cluster,
    "order": order,
}

"""sparsevideo's clusters of tokens, the layers beside its attention, and the attention over clusters."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, plain

if TYPE_CHECKING:
    from collections.abc import Callable

# A source distribution: unpack it into the package's folder by hand.
PACKAGE = Package("sparsevideo", "0.1.0")
FOLDERS = ("sparsevideo-0.1.0/src",)
BARE = (
    "sparsevideo",
    "sparsevideo.kernels",
    "sparsevideo.kernels.native",
    "sparsevideo.kernels.native.adacluster",
    "sparsevideo.methods",
    "sparsevideo.methods.svg1",
    "sparsevideo.methods.flashomni",
)
CLUSTERS, BLOCK, TEXT, FRAME, CHOSEN = 16, 64, 8, 8, 4
# Clips of whole frames, eight tokens in each.
CLIPS = ((1, 1), (2, 2), (1, 3), (3, 5), (1, 9), (2, 13), (1, 17), (2, 21))
SHAPES_OF = {"placement": CLIPS}


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"sparsevideo.{module}"), name)(*arguments, **more)


def halves(batch: int, length: int) -> torch.Tensor:
    """Tokens of all heads, the heads before the tokens."""
    return plain(batch, HEADS, length, HEAD, dtype=torch.float16)


def ids(*shape: int) -> torch.Tensor:
    """The cluster of each token, in order."""
    return torch.randint(0, CLUSTERS, shape, device=DEVICE).sort(-1).values


def centers(batch: int, length: int) -> object:
    """New centers of clusters."""
    made = plain(batch, length, HEAD), ids(batch, length), plain(batch, CLUSTERS, HEAD)
    return call("kernels.co_cluster", "centroid_update_sorted_euclid", *made)


def profiles(batch: int, length: int) -> object:
    """Each token by its products with the centers, and the nearest of these."""
    tokens, first = plain(batch, length, HEAD), plain(batch, CLUSTERS, HEAD)
    blocks = {"BLOCK_N": 64, "BLOCK_K": 16}
    norms = call("kernels.co_cluster", "profile_norm", tokens, first, **blocks)
    made = tokens, first, plain(batch, CLUSTERS, CLUSTERS, dtype=torch.float32), norms
    return call("kernels.co_cluster", "co_cluster_assign", *made, BLOCK_J=16, **blocks)


def rms_norm(batch: int, length: int) -> object:
    """Norm of each token."""
    return call("kernels.fused_norm_rope", "triton_rmsnorm_inplace", plain(batch, length, HIDDEN), plain(HIDDEN), 1e-6)


def rotate(batch: int, length: int) -> object:
    """Queries and keys rotated, as two models do."""
    made = [plain(batch, length, HEADS, HEAD) for _ in range(2)]
    halved = [plain(length, HEAD // 2, dtype=torch.float32) for _ in range(2)]
    call("kernels.fused_norm_rope", "triton_rope_wan_inplace", *made, *halved)
    whole = [plain(length, HEAD, dtype=torch.float32) for _ in range(2)]
    return call("kernels.fused_norm_rope", "triton_rope_hyvideo_inplace", *made, *whole)


def l2_norm(batch: int, length: int) -> object:
    """Tokens on a sphere."""
    return call("kernels.l2norm", "triton_l2norm_forward", plain(batch, length, HIDDEN))


def layer_norm(batch: int, length: int) -> object:
    """A norm with and without parameters."""
    call("kernels.layernorm", "triton_layernorm_noparam_forward", plain(batch, length, HIDDEN), 1e-6)
    made = plain(batch, length, HIDDEN), plain(HIDDEN), plain(HIDDEN)
    return call("kernels.layernorm", "triton_layernorm_param_forward", *made, 1e-6)


def modulate(batch: int, length: int) -> object:
    """A shift and scale, and a gate, for each clip and for all."""
    each = [plain(batch, HIDDEN) for _ in range(3)]
    tokens = plain(batch, length, HIDDEN)
    call("kernels.modulate", "triton_modulate_shift_batched_forward", tokens, *each[:2])
    call("kernels.modulate", "triton_modulate_gate_residual_batched_forward", tokens, tokens, each[2])
    one = [plain(HIDDEN) for _ in range(3)]
    call("kernels.modulate", "triton_modulate_shift_forward", tokens, *one[:2])
    return call("kernels.modulate", "triton_modulate_gate_residual_forward", tokens, tokens, one[2])


def means(batch: int, length: int) -> object:
    """The mean of each cluster."""
    sizes = torch.full((batch, HEADS, CLUSTERS), length // CLUSTERS, device=DEVICE, dtype=torch.int32)
    return call("kernels.scatter_mean", "scatter_mean_fused", halves(batch, length), sizes)


def cut(batch: int, length: int) -> object:
    """How many keys of each query hold most of its weight."""
    weights = plain(batch, HEADS, length, dtype=torch.float32).abs()
    return call("kernels.sparsity", "counts_from_sorted_probabilities_triton", weights, 0.9)


def cluster(batch: int, length: int) -> object:
    """Keys in clusters, a few times over."""
    module = "kernels.native.adacluster.fast_kmeans_single"
    return call(module, "flash_kmeans_single", plain(batch, HEADS, CLUSTERS, HEAD), plain(batch, HEADS, length, HEAD))


def attend(batch: int, length: int) -> object:
    """Clusters of queries against some clusters of keys."""
    sizes = torch.full((batch, HEADS, CLUSTERS), length // CLUSTERS, device=DEVICE, dtype=torch.int32)
    made = [halves(batch, length) for _ in range(3)]
    mask = torch.ones(batch, HEADS, CLUSTERS, CLUSTERS, device=DEVICE, dtype=torch.bool)
    module = "kernels.native.adacluster.triton_cluster_sparse_attn"
    call(module, "triton_cluster_sparse_attn", *made, mask, sizes, sizes, 0.125)
    chosen = torch.arange(CHOSEN, device=DEVICE, dtype=torch.int32).expand(batch, HEADS, CLUSTERS, CHOSEN).contiguous()
    name = "triton_cluster_sparse_attn_topk"
    return call(f"kernels.native.adacluster.{name}", name, *made, chosen, sizes, sizes, 0.125)


def placement(batch: int, length: int) -> object:
    """Tokens of some heads frame by frame, of others place by place; `length` frames."""
    made = [halves(batch, TEXT + length * FRAME) for _ in range(3)]
    kinds = torch.zeros(batch, HEADS, device=DEVICE, dtype=torch.int32)
    call("methods.svg1.placement", "hidden_states_placement", made[0], kinds, TEXT, length, FRAME)
    return call("methods.svg1.placement", "sparse_head_placement", *made, kinds, TEXT, length, FRAME)


def pool(batch: int, length: int) -> object:
    """The mean of all tokens, and of each block of them."""
    tokens = halves(batch, length)
    mean = call("methods.flashomni.policy", "_hunyuan_mean_tokens_triton", tokens)
    limits = torch.ones(HEADS, device=DEVICE)
    return call("methods.flashomni.policy", "_hunyuan_pool_blocks_triton", tokens, mean, BLOCK, limits)


OPERATORS: dict[str, Callable[[int, int], object]] = {
    "centers": centers,
    "profiles": profiles,
    "rms-norm": rms_norm,
    "rotate": rotate,
    "l2-norm": l2_norm,
    "layer-norm": layer_norm,
    "modulate": modulate,
    "means": means,
    "cut": cut,
    "cluster": cluster,
    "attend": attend,
    "placement": placement,
    "pool": pool,
}

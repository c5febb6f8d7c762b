"""quant-videogen's compressed keys and values: clusters, residuals, permutations and low-bit numbers."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, plain

PACKAGE = Package("quant-videogen", "0.1.0")
BARE = (
    "quant_videogen",
    "quant_videogen.kernels",
    "quant_videogen.kernels.triton",
    "quant_videogen.real",
    "quant_videogen.kmeans",
    "quant_videogen.sim",
    "quant_videogen.sim.quant",
)
UNUSED = ("termcolor",)
CLUSTERS, GROUP, STAGES = 16, 16, 2


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"quant_videogen.{module}"), name)(*arguments, **more)


def ids(*shape: int) -> torch.Tensor:
    """The cluster of each token."""
    return torch.randint(0, CLUSTERS, shape, device=DEVICE, dtype=torch.int32)


def keys(batch: int, length: int) -> torch.Tensor:
    """Keys of all heads."""
    return plain(batch, HEADS, length, HEAD)


def assign(batch: int, length: int) -> object:
    """The nearest cluster of each token."""
    tokens = plain(batch, length, HEAD)
    squares = plain(batch, length, dtype=torch.float32)
    return call("kmeans.euclid_assign", "euclid_assign_triton", tokens, plain(batch, CLUSTERS, HEAD), squares)


def update(batch: int, length: int) -> object:
    """New centers of clusters."""
    made = plain(batch, length, HEAD), ids(batch, length), plain(batch, CLUSTERS, HEAD)
    return call("kmeans.centroid_update", "triton_centroid_update_euclid", *made)


def update_sorted(batch: int, length: int) -> object:
    """New centers, the tokens in order."""
    made = plain(batch, length, HEAD), ids(batch, length).sort(-1).values.long(), CLUSTERS
    return call("kmeans.centroid_update", "triton_centroid_update_sorted_euclid", *made)


def residual(batch: int, length: int) -> object:
    """What centers leave of each token."""
    made = keys(batch, length), ids(batch, HEADS, length), plain(batch, HEADS, CLUSTERS, HEAD)
    return call("real.smooth", "minus_centroid", *made)


def pack(batch: int, length: int) -> object:
    """Tokens in two bits."""
    return call("real.quant_pack", "quant_pack", keys(batch, length), GROUP, 2, torch.bfloat16, True)


def unpack(batch: int, length: int) -> object:
    """Tokens of their centers and packed residuals."""
    centers = [plain(batch, HEADS, CLUSTERS, HEAD) for _ in range(STAGES)]
    packed = torch.randint(0, 255, (batch, HEADS, length, HEAD // 4), device=DEVICE, dtype=torch.uint8)
    made = centers, [ids(batch, HEADS, length) for _ in range(STAGES)], packed, plain(batch, HEADS, length, 4)
    return call("real.accumulate", "nstage_accum", *made, GROUP, 2, True)


def permute(batch: int, length: int) -> object:
    """Tokens by cluster, and back."""
    order = torch.arange(length, device=DEVICE, dtype=torch.int32).expand(batch * HEADS, length).contiguous()
    module = "kernels.triton.permute"
    call(module, "permute_tensor_by_labels_triton", keys(batch, length), None, 2, sorted_indices=order)
    made = keys(batch, length), order.view(batch, HEADS, length)
    return call(module, "apply_inverse_permutation_triton", *made, 2)


def rotate(batch: int, length: int) -> object:
    """Queries and keys rotated."""
    angles = [plain(length, HEAD) for _ in range(2)]
    return call("kernels.triton.rope", "rope_forward", keys(batch, length), keys(batch, length), *angles)


def low_bits(batch: int, length: int) -> object:
    """Four bits in groups, pretended."""
    return call("sim.quant.lowbit_quantize", "blockwise_int4_quantize_triton", keys(batch, length))


def low_floats(batch: int, length: int) -> object:
    """Floats of four bits in groups, pretended."""
    return call("sim.quant.lowbit_quantize", "nvfp4_e2m1_quantize_triton", keys(batch, length))


OPERATORS = {
    "assign": assign,
    "update": update,
    "update-sorted": update_sorted,
    "residual": residual,
    "pack": pack,
    "unpack": unpack,
    "permute": permute,
    "rotate": rotate,
    "low-bits": low_bits,
    "low-floats": low_floats,
}

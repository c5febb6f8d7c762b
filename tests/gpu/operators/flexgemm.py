"""FlexGEMM's sparse convolutions and samples of a grid."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, normal

REPOSITORY = "JeffreyXiang/FlexGEMM"
COMMIT = "6dd94a859c26ee8246888502eada3dd8ad85532e"
BARE = ("flex_gemm", "flex_gemm.kernels", "flex_gemm.kernels.triton")
UNUSED = ("flex_gemm.kernels.cuda",)
INPUT, OUTPUT, VOLUME, CORNERS = 32, 64, 27, 8


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library, which keeps no tunings."""
    vars(sys.modules["flex_gemm"]).update(
        AUTOSAVE_AUTOTUNE_CACHE=False, AUTOTUNE_CACHE_PATH="", USE_AUTOTUNE_CACHE=False
    )
    return getattr(importlib.import_module(f"flex_gemm.kernels.triton.{module}"), name)(*arguments, **more)


def half(*shape: int) -> torch.Tensor:
    """Half precision, with a gradient."""
    return normal(*shape, dtype=torch.float16)


def neighbors(voxels: int) -> torch.Tensor:
    """The neighbors of each voxel."""
    return torch.zeros(voxels, VOLUME, device=DEVICE, dtype=torch.uint32)


def convolve(batch: int, length: int) -> object:
    """Voxels into half as many, forward and backward."""
    voxels = 2 * batch * length
    made = half(voxels, INPUT), half(OUTPUT, VOLUME, INPUT), half(OUTPUT)
    there, back = neighbors(voxels // 2), neighbors(voxels)
    module = "spconv.sparse_conv_implicit_gemm"
    call(module, "sparse_conv_fwd_implicit_gemm", *made, there)
    return call(module, "sparse_conv_bwd_implicit_gemm", half(voxels // 2, OUTPUT), *made, there, back)


def submanifold(batch: int, length: int) -> object:
    """Voxels into as many, forward and backward."""
    voxels = batch * length
    made = half(voxels, INPUT), half(OUTPUT, VOLUME, INPUT), half(OUTPUT), neighbors(voxels)
    module = "spconv.sparse_submanifold_conv_fwd_implicit_gemm"
    call(module, "sparse_submanifold_conv_fwd_implicit_gemm", *made)
    module = "spconv.sparse_submanifold_conv_bwd_implicit_gemm"
    return call(module, "sparse_submanifold_conv_bwd_implicit_gemm", half(voxels, OUTPUT), *made)


def sample(batch: int, length: int) -> object:
    """Points between voxels, forward and backward."""
    voxels, points = 1000, batch * length
    corners = torch.zeros(points, CORNERS, device=DEVICE, dtype=torch.uint32)
    shares = half(points, CORNERS)
    call("grid_sample.indice_weighed_sum_fwd", "indice_weighed_sum_fwd", half(voxels, INPUT), corners, shares)
    module = "grid_sample.indice_weighed_sum_bwd"
    return call(module, "indice_weighed_sum_bwd_input", half(points, INPUT), corners, shares, voxels)


OPERATORS = {
    "convolve": convolve,
    "submanifold": submanifold,
    "sample": sample,
}

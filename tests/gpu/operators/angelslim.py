"""AngelSlim's eight and four bits, and what it chooses of long prompts."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import HEAD, HEADS, HIDDEN, normal, plain

REPOSITORY = "Tencent/AngelSlim"
COMMIT = "67394ce55f6b6cfae702575fbc3c7a05c13fdd74"
SPARSE = "angelslim.compressor.sparsity.algorithms"
BARE = (
    "angelslim",
    "angelslim.compressor",
    "angelslim.compressor.diffusion",
    "angelslim.compressor.diffusion.kernels",
    "angelslim.compressor.diffusion.kernels.python",
    "angelslim.compressor.diffusion.kernels.python.gemm",
    "angelslim.compressor.diffusion.kernels.python.quantizers",
    "angelslim.compressor.mcore_qad",
    "angelslim.compressor.mcore_qad.quant",
    "angelslim.compressor.mcore_qad.quant.kernels",
    "angelslim.compressor.sparsity",
    SPARSE,
    f"{SPARSE}.cosa",
    f"{SPARSE}.cosa.ops",
    f"{SPARSE}.stem",
    f"{SPARSE}.stem.ops",
    f"{SPARSE}.vecattention",
    f"{SPARSE}.vecattention.ops",
)
EXPERTS, SMALL = 4, 16
GROUP, WIDE, STRIDE, BLOCK, CHUNK = 128, 1024, 16, 128, 2048
LONG = ((1, 2048), (2, 2048), (1, 4096), (1, 6144), (2, 8192), (1, 10240), (1, 12288), (1, 14336))
SHAPES_OF = dict.fromkeys(("cosa", "stem", "columns"), LONG)


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def eight_bits(batch: int, length: int) -> object:
    """All tokens in eight bits, and by a weight of eight bits."""
    python = "angelslim.compressor.diffusion.kernels.python"
    tokens = plain(batch * length, HIDDEN)
    call(f"{python}.quantizers.fp8_per_token_group", "fp8_per_token_group_quant_triton", tokens, GROUP)
    call(f"{python}.quantizers.fp8_per_block", "fp8_per_block_quant_triton", plain(WIDE, HIDDEN))
    codes, weight = (plain(*size).to(torch.float8_e4m3fn) for size in ((batch * length, HIDDEN), (WIDE, HIDDEN)))
    scales = plain(batch * length, HIDDEN // GROUP, dtype=torch.float32)
    each = plain(WIDE // GROUP, HIDDEN // GROUP, dtype=torch.float32)
    return call(f"{python}.gemm.fp8_gemm", "fp8_gemm_triton_block", codes, scales, weight, each)


def four_bits(batch: int, length: int) -> object:
    """The weights of experts in four bits, at every step, with the gradient of their scales."""
    kernels = "angelslim.compressor.mcore_qad.quant.kernels"
    weight, scales = plain(EXPERTS, WIDE, HIDDEN), (EXPERTS, WIDE, HIDDEN // SMALL)
    made = weight, normal(*scales, dtype=torch.float32), plain(*scales, dtype=torch.float32)
    call(f"{kernels}.triton_int4_group", "triton_int4_group", *made, SMALL, 1.0)
    each = plain(EXPERTS, 1, 1, dtype=torch.float32)
    return call(f"{kernels}.triton_nvfp4", "triton_nvfp4", *made, each, SMALL, 1.0)


def cosa(batch: int, length: int) -> object:
    """The blocks that a long prompt is to see, by every sixteenth token, in chunks."""
    made = [plain(batch, HEADS, length, HEAD) for _ in range(2)]
    return call(f"{SPARSE}.cosa.ops.proxy", "cosa_estimate", *made, BLOCK, STRIDE, chunk_size=CHUNK)


def stem(batch: int, length: int) -> object:
    """The same by another method."""
    made = [plain(batch, HEADS, length, HEAD) for _ in range(2)]
    module = f"{SPARSE}.stem.ops.stem_kernel"
    return call(module, "flat_group_gemm_fuse_reshape", *made, STRIDE, 0, length // STRIDE)


def columns(batch: int, length: int) -> None:
    """The keys that each block of a long prompt is to see, in chunks."""
    module, keys = f"{SPARSE}.vecattention.ops.vecattention_kernel", plain(batch, HEADS, length, HEAD)
    for first in range(0, length, CHUNK):
        queries = plain(batch, HEADS, CHUNK // BLOCK, HEAD)
        call(module, "fuse_qk_softmax_minp_wo_causal", queries, keys, first // BLOCK, 3.0)


OPERATORS = {"eight-bits": eight_bits, "four-bits": four_bits, "cosa": cosa, "stem": stem, "columns": columns}

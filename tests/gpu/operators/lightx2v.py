"""LightX2V's kernels of video models: norms, rotation, eight bits, caches and windows."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, plain

REPOSITORY = "ModelTC/LightX2V"
COMMIT = "f8aee98b5462cca8d7288888146ebd95592bf266"
NETWORKS, VAE = "models.networks", "models.video_encoders.hf.ltx2.video_vae"
BARE = (
    "lightx2v",
    "lightx2v.common",
    "lightx2v.common.kvcache",
    "lightx2v.common.ops",
    "lightx2v.common.ops.attn",
    "lightx2v.common.ops.attn.kernels",
    "lightx2v.common.ops.attn.utils",
    "lightx2v.common.ops.mm",
    "lightx2v.common.ops.norm",
    "lightx2v.models",
    "lightx2v.models.networks",
    "lightx2v.models.networks.cosmos3",
    "lightx2v.models.networks.cosmos3.infer",
    "lightx2v.models.networks.ltx2",
    "lightx2v.models.networks.ltx2.infer",
    "lightx2v.models.networks.minimax_h3",
    "lightx2v.models.networks.minimax_h3.infer",
    "lightx2v.models.networks.qwen_image",
    "lightx2v.models.networks.qwen_image.infer",
    "lightx2v.models.video_encoders",
    "lightx2v.models.video_encoders.hf",
    "lightx2v.models.video_encoders.hf.ltx2",
    "lightx2v.models.video_encoders.hf.ltx2.video_vae",
)
UNUSED = ("loguru",)
WIDE, RANKS, BLOCK, SHARE, GROUP = 1024, 2, 64, 0.5, 32
# Clips: so many frames, and a few more pixels high and wide.
CLIPS = ((1, 3), (1, 4), (2, 5), (1, 7), (1, 9), (2, 13), (1, 17), (1, 21))
SHAPES_OF = {"window": CLIPS}


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"lightx2v.{module}"), name)(*arguments, **more)


def norm(batch: int, length: int) -> object:
    """Norms and a modulation of all tokens."""
    ops = "common.ops.norm.triton_ops"
    tokens, each = plain(batch, length, HIDDEN), plain(batch, 1, HIDDEN)
    call(ops, "fuse_scale_shift_kernel", tokens, each, each)
    flat = plain(batch * length, HIDDEN)
    call(ops, "norm_infer", flat, plain(HIDDEN), plain(HIDDEN), 1e-6)
    call(ops, "rms_norm_kernel", tokens, plain(HIDDEN))
    rows = plain(batch * length, HEAD), plain(batch * length, HEAD)
    call(ops, "fused_qk_rms_norm", *rows, plain(HEAD), plain(HEAD))
    made = [plain(batch, length, HIDDEN) for _ in range(3)]
    return call(f"{NETWORKS}.ltx2.infer.triton_ops", "fused_rmsnorm_modulate", *made, plain(HIDDEN))


def select(batch: int, length: int) -> object:
    """A modulation by one of two for each token."""
    rows = [plain(batch, HIDDEN) for _ in range(6)]
    index = torch.zeros(batch, length, device=DEVICE, dtype=torch.int32)
    made = plain(batch, length, HIDDEN), *rows, index
    return call(f"{NETWORKS}.qwen_image.infer.triton_ops", "fuse_scale_shift_gate_select01_kernel", *made)


def rotate(batch: int, length: int) -> object:
    """Tokens rotated, in three layouts."""
    half = [plain(length, HEAD // 2, dtype=torch.float32) for _ in range(2)]
    call("common.ops.norm.triton_ops", "apply_rotary_embedding", plain(batch, length, HEADS, HEAD), *half)
    whole = [plain(length, HEAD, dtype=torch.float32) for _ in range(2)]
    call(f"{NETWORKS}.cosmos3.infer.utils", "apply_split_half_rotary_triton", plain(length, HEADS, HEAD), *whole)
    some = [plain(length, HEAD // 2, dtype=torch.float32) for _ in range(2)]
    module = f"{NETWORKS}.minimax_h3.infer.triton_ops"
    return call(module, "apply_partial_split_half_rotary_triton", plain(length, HEADS, HEAD), *some)


def eight_bits(batch: int, length: int) -> object:
    """All tokens in eight bits, by weights of eight bits."""
    ops = "common.ops.mm.triton_kernels"
    call(ops, "int8_quantize_triton", plain(batch * length, HIDDEN))
    codes = torch.zeros(batch * length, HIDDEN, device=DEVICE, dtype=torch.int8)
    weight = torch.zeros(WIDE, HIDDEN, device=DEVICE, dtype=torch.int8)
    scales = plain(batch * length, 1, dtype=torch.float32), plain(WIDE, 1, dtype=torch.float32)
    call(ops, "int8_gemm_triton", codes, weight, *scales, output_dtype=torch.bfloat16)
    bias = plain(WIDE)
    return call(ops, "int8_gemm_bias_triton", codes, weight, bias, *scales, output_dtype=torch.bfloat16)


def ranks(batch: int, length: int) -> object:
    """Queries, keys and values laid out for other ranks, and back; `length` tokens and a text are of this rank."""
    module = "common.ops.attn.kernels.ulysses_layout"
    text = 8 * batch
    query, keys, values = (plain(length, HEADS, HEAD) for _ in range(3))
    sent = call(module, "qkv_pre", query, keys, values, RANKS)
    more = [plain(text, HEADS, HEAD) for _ in range(3)]
    call(module, "qkv_post", sent, *more, 0, text, True)
    seen = plain(RANKS * length, HEADS // RANKS * HEAD)
    return call(module, "attn_post", call(module, "attn_pre", seen, length, RANKS, HEADS // RANKS, HEAD))


def sparse(batch: int, length: int) -> object:
    """A clip that sees a share of its blocks."""
    query, keys, values = (plain(batch, HEADS, length, HEAD) for _ in range(3))
    seen = call("common.ops.attn.utils.sla_util", "get_block_map", query, keys, SHARE, BLOCK, BLOCK)
    attend = importlib.import_module("lightx2v.common.ops.attn.kernels.sla_kernel")._attention
    return attend.apply(query, keys, values, *seen, BLOCK, BLOCK)


def cache(batch: int, length: int) -> object:
    """Keys of eight bits to another scale, and a cache of two bits back."""
    codes = [torch.zeros(length, HEADS, HEAD, device=DEVICE, dtype=torch.int8) for _ in range(2)]
    scales = [plain(length, HEADS, dtype=torch.float32) for _ in range(2)]
    call("common.kvcache.kernel", "k_int8_roll_rescale_triton", *codes, *scales)
    room = GROUP * (-(-length // GROUP) + 1)
    packed = torch.zeros(HEADS, HEAD, room * 2 // 32, device=DEVICE, dtype=torch.int32)
    each = [plain(HEADS, HEAD, room // GROUP, dtype=torch.float16) for _ in range(2)]
    return call("common.kvcache.kernel", "kivi_dequant_ring_nhd_triton", packed, *each, [(0, length)], GROUP, 2)


def window(batch: int, length: int) -> object:
    """A clip whose pixels see those near them."""
    made = [plain(batch, length, length + 4, length + 2, HEADS, HEAD) for _ in range(3)]
    return call(f"{VAE}.triton_na", "na3d", *made, (3, 3, 3))


def gate(batch: int, length: int) -> object:
    """The gate of all pixels."""
    weights = plain(WIDE, HIDDEN), plain(WIDE, HIDDEN)
    out = plain(batch * length, WIDE)
    return call(f"{VAE}.triton_swiglu", "_fused_gate_up_swiglu", plain(batch * length, HIDDEN), *weights, out)


OPERATORS = {
    "norm": norm,
    "select": select,
    "rotate": rotate,
    "eight-bits": eight_bits,
    "ranks": ranks,
    "sparse": sparse,
    "cache": cache,
    "window": window,
    "gate": gate,
}

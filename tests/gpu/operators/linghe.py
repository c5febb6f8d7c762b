"""linghe's attention, rotation, norms, eight bits, routes and losses."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEADS, HIDDEN, VOCABULARY, plain, starts

REPOSITORY = "inclusionAI/linghe"
COMMIT = "02edabd91feb85b02e8d62ad690a15138efe6cbe"
HEAD, HELD, EXPERTS, CHOSEN, GROUPS = 128, HEADS // 2, 32, 4, 4
SHAPES = CHUNKS
# Latent attention takes whole blocks of 256.
SHAPES_OF = {"latent-attention": ((1, 256), (2, 512), (3, 768), (1, 1024), (4, 1280), (2, 1536), (1, 1792), (2, 2560))}


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"linghe.{module}"), f"triton_{name}")(*arguments, **more)


def linear_attention(batch: int, length: int) -> object:
    """Lightning attention, forward and backward; the library takes whole blocks."""
    made = [plain(batch, length, HEADS, HEAD) for _ in range(3)]
    decay = plain(HEADS, dtype=torch.float32)
    call("attn.la", "lightning_attention_forward", *made, decay)
    return call("attn.la", "lightning_attention_backward", plain(batch, length, HEADS, HEAD), *made, decay)


def latent_attention(batch: int, length: int) -> object:
    """Latent attention of a prompt, and of prompts that lie one after another."""
    made = plain(batch, length, HEADS, 192), plain(batch, length, HEADS, 192), plain(batch, length, HEADS, 128)
    call("attn.mla", "mla_forward", *made)
    flat = [one.view(batch * length, HEADS, -1) for one in made]
    return call("attn.mla", "varlen_mla_forward", *flat, starts([length] * batch), length)


def rotate(batch: int, length: int) -> object:
    """Queries and keys rotated, with and without their norms."""
    query, keys = plain(length, batch, HEADS, HEAD), plain(length, batch, HELD, HEAD)
    angles = plain(length, HEAD // 2, dtype=torch.float32)
    call("utils.rope", "half_rope_forward", query, keys, angles)
    made = plain(length, batch, (HEADS + 2 * HELD) * HEAD), plain(HEAD), plain(HEAD), angles
    call("utils.rope", "qk_norm_and_half_rope_forward", *made, H=HEADS, h=HELD)
    made = plain(length, batch, HEADS, 192), plain(length, batch, HEADS, 256), plain(length, batch, 1, 64)
    return call("utils.rope", "mla_rope_forward", *made, plain(length, 64, dtype=torch.float32))


def norm(batch: int, length: int) -> object:
    """Norms of all tokens, forward and backward, and with a gate."""
    tokens = plain(batch * length, HIDDEN)
    call("utils.norm", "rms_norm_forward", tokens, plain(HIDDEN))
    call("utils.norm", "rms_norm_backward", plain(batch * length, HIDDEN), tokens, plain(HIDDEN))
    made = plain(batch, length, HEADS, HEAD), plain(length, batch, HEADS * HEAD), plain(HEADS * HEAD)
    call("utils.gate", "group_rms_norm_gate_forward", *made)
    gradient = plain(length, batch, HEADS * HEAD)
    return call("utils.gate", "group_rms_norm_gate_backward", gradient, *made)


def gate(batch: int, length: int) -> object:
    """The gate of all tokens, forward and backward, with and without eight bits."""
    tokens, gradient = plain(batch * length, 2 * HIDDEN), plain(batch * length, HIDDEN)
    shares = plain(batch * length, 1, dtype=torch.float32)
    call("utils.silu", "weighted_silu_forward", tokens, shares)
    call("utils.silu", "weighted_silu_backward", gradient, tokens, shares)
    call("utils.silu", "silu_and_block_quant_forward", tokens)
    return call("utils.silu", "silu_and_block_quant_backward", gradient, tokens)


def eight_bits(batch: int, length: int) -> object:
    """All tokens in eight bits, by blocks, rows, groups and channels."""
    tokens = plain(batch * length, HIDDEN)
    call("quant.block", "block_quant", tokens)
    call("quant.block", "blockwise_quant", tokens)
    call("quant.channel", "row_quant", tokens)
    call("quant.channel", "tokenwise_row_quant", tokens)
    call("quant.channel", "transpose_row_quant", tokens)
    call("quant.group", "group_quant", tokens)
    call("quant.hadamard", "hadamard_quant", tokens, plain(64, 64))
    scales = plain(HIDDEN, dtype=torch.float32)
    call("quant.smooth", "smooth_quant", tokens, scales)
    call("utils.norm", "rms_norm_and_block_quant_forward", tokens, plain(HIDDEN))
    return call("quant.smooth", "transpose_smooth_quant", tokens, plain(batch * length, dtype=torch.float32))


def products(batch: int, length: int) -> object:
    """All tokens by a router's weight, forward and for both gradients, and by weights of eight bits."""
    tokens, router = plain(batch * length, HIDDEN), plain(EXPERTS, HIDDEN)
    logits = call("gemm.fp32_gemm", "fp32_gemm", tokens, router)
    call("gemm.fp32_gemm", "fp32_gemm_for_backward", logits, router)
    call("gemm.fp32_gemm", "fp32_gemm_for_update", logits, tokens)
    codes, weight = (plain(*size).to(torch.float8_e4m3fn) for size in ((batch * length, HIDDEN), (HIDDEN, HIDDEN)))
    scales = plain(batch * length, HIDDEN // 128, dtype=torch.float32)
    call("gemm.blockwise_fp8_gemm", "bb_fp8_gemm", codes, weight, scales, scales)
    rows, columns = plain(batch * length, dtype=torch.float32), plain(HIDDEN, dtype=torch.float32)
    return call("gemm.channelwise_fp8_gemm", "scaled_mm", codes, weight, rows, columns)


def route(batch: int, length: int) -> object:
    """Tokens to their experts and back."""
    tokens = batch * length
    logits = plain(tokens, EXPERTS, dtype=torch.float32)
    call("utils.topk", "topk_forward", logits, CHOSEN)
    call("utils.topk", "group_topk_score_forward", logits, CHOSEN, num_groups=8, group_topk=GROUPS)
    routes = torch.zeros(tokens, EXPERTS, device=DEVICE, dtype=torch.int32)
    rows = call("utils.gather", "make_row_id_map", routes)
    shares, made = plain(tokens, EXPERTS, dtype=torch.float32), plain(tokens, HIDDEN)
    call("utils.gather", "permute_with_mask_map", made, None, shares, rows, tokens * CHOSEN)
    chosen, flat = plain(tokens * CHOSEN, HIDDEN), plain(tokens * CHOSEN, dtype=torch.float32)
    call("utils.gather", "index_select", made, torch.zeros(tokens * CHOSEN, device=DEVICE, dtype=torch.int64))
    return call("utils.scatter", "unpermute_with_mask_map", chosen, rows, flat)


def losses(batch: int, length: int) -> object:
    """The loss of all tokens, that of the router, and a norm of all gradients."""
    target = torch.zeros(batch * length, device=DEVICE, dtype=torch.int64)
    call("utils.loss", "softmax_cross_entropy_forward", plain(batch * length, VOCABULARY), target)
    call("utils.loss", "moe_z_loss_forward", plain(length, batch, EXPERTS, dtype=torch.float32))
    call("utils.reduce", "abs_max", plain(batch * length, HIDDEN))
    return call("utils.reduce", "norm", plain(HIDDEN, HIDDEN))


def turn(batch: int, length: int) -> object:
    """All tokens the other way around."""
    tokens = plain(batch * length, HIDDEN)
    call("utils.transpose", "transpose", tokens)
    call("utils.transpose", "transpose", plain(length, batch, HIDDEN), inner=False)
    call("utils.transpose", "transpose_and_pad", tokens)
    return call("utils.transpose", "opt_transpose", tokens)


def rotate_packed(batch: int, length: int) -> object:
    """Sequences one after another, rotated with their norms."""
    ends, total = starts([length] * batch), batch * length
    angles = plain(length, HEAD // 2, dtype=torch.float32)
    made = plain(total, (HEADS + 2 * HELD) * HEAD), plain(HEAD), plain(HEAD), angles
    call("utils.rope", "varlen_qk_norm_and_half_rope_forward", *made, ends, ends, H=HEADS, h=HELD)
    made = plain(total, HEADS, 192), plain(total, HEADS, 256), plain(total, 1, 64)
    more = {"cu_seqlens_q": ends, "cu_seqlens_kv": ends}
    return call("utils.rope", "mla_rope_forward", *made, plain(length, 64, dtype=torch.float32), **more)


def rotate_backward(batch: int, length: int) -> object:
    """The gradients of what was rotated."""
    query, keys = plain(batch, length, HEADS, HEAD), plain(batch, length, HELD, HEAD)
    angles = plain(length, HEAD // 2, dtype=torch.float32)
    turned = plain(length, batch, HEADS, HEAD), plain(length, batch, HELD, HEAD)
    call("utils.rope", "half_rope_backward", *turned, angles, inplace=True)
    made = query, keys, plain(batch, length, HELD, HEAD), plain(length, batch, (HEADS + 2 * HELD) * HEAD)
    return call("utils.rope", "qk_norm_and_half_rope_backward", *made, plain(HEAD), plain(HEAD), angles)


OPERATORS = {
    "linear-attention": linear_attention,
    "latent-attention": latent_attention,
    "rotate": rotate,
    "rotate-packed": rotate_packed,
    "rotate-backward": rotate_backward,
    "norm": norm,
    "gate": gate,
    "eight-bits": eight_bits,
    "products": products,
    "route": route,
    "losses": losses,
    "turn": turn,
}

"""mdy_triton's norms, gates, losses, eight bits, convolutions and native sparse attention."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, HIDDEN, VOCABULARY, normal, plain

REPOSITORY = "mdy666/mdy_triton"
COMMIT = "0718faabe657b2f389e00beb31e8c66d1c122e2a"
KERNELS = ("causal_conv1d", "deepseekv3", "dpsk_fp8linear", "grpo", "lighting_attention", "mla_attention")
FOLDERS = (".", "triton_kernels/nsa_attention", *(f"triton_kernels/{name}" for name in KERNELS))
BARE = ("mdy_triton", "mdy_triton.core", "triton_grpo_loss")
UNUSED = ("deep_gemm", "flash_attn")
WIDE, EXPERTS, HELD, LATENT, ROTATED, TAPS = 1024, 64, 2, 256, 32, 4
# Sparse attention takes some blocks of keys at least.
LONG = ((1, 64), (2, 100), (3, 128), (5, 200), (6, 333), (1, 512), (2, 777), (4, 1000))
# Gradients in eight bits are of 256 tokens at least, and of whole blocks of these.
PADDED = ((1, 256), (2, 128), (3, 256), (2, 512), (5, 256), (4, 640), (1, 1024), (2, 1664))
SHAPES_OF = {"sparse": LONG, "blocks": CHUNKS, "eight-bits": PADDED}


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def norm(batch: int, length: int) -> object:
    """The norm of all tokens, forward and backward, after that of a sum with what went past."""
    tokens = plain(batch, length, HIDDEN)
    call("mdy_triton.core.fused_add_norm", "triton_fused_add_norm", tokens, plain(*tokens.shape), plain(HIDDEN), 1e-6)
    return call("mdy_triton.core.rmsnorm", "triton_rmsnorm", normal(*tokens.shape), normal(HIDDEN), 1e-6)


def rotate(batch: int, length: int) -> object:
    """Queries and keys rotated, forward and backward."""
    made = normal(batch, length, HEADS, HEAD).transpose(1, 2), normal(batch, length, HELD, HEAD).transpose(1, 2)
    angles = plain(batch, length, HEAD), plain(batch, length, HEAD)
    return call("mdy_triton.core.fused_apply_rope", "fused_apply_rope", *made, *angles)


def gate(batch: int, length: int) -> object:
    """Gates of all tokens, forward and backward."""
    made = normal(batch, length, WIDE), normal(batch, length, WIDE)
    return call("mdy_triton.core.fused_silu", "triton_fused_up_gate_silu", *made)


def gate_whole(batch: int, length: int) -> object:
    """Gates that are one tensor with what they gate, forward and backward."""
    return call("mdy_triton.core.fused_silu", "triton_fused_up_gate_silu_no_split", normal(batch, length, 2 * WIDE))


def loss(batch: int, length: int) -> object:
    """The loss of all tokens, forward and backward."""
    labels = torch.zeros(batch, length, device=DEVICE, dtype=torch.int64)
    return call("mdy_triton.core.cross_entyopy_loss", "triton_entropy_loss", normal(batch, length, VOCABULARY), labels)


def extremes(batch: int, length: int) -> object:
    """The best expert and the worst word of each token."""
    call("mdy_triton.core.triton_maxmin", "triton_max", plain(batch, length, EXPERTS))
    call("mdy_triton.core.triton_maxmin", "triton_min", plain(batch, length, VOCABULARY))


def rewards(batch: int, length: int) -> tuple[torch.Tensor, ...]:
    """Logits, words, advantages and a mask of completions, and what other models say of them."""
    words = torch.zeros(batch, length, device=DEVICE, dtype=torch.int64)
    said = plain(batch, length, dtype=torch.float32), plain(batch, length, dtype=torch.float32)
    return normal(batch, length + 1, VOCABULARY), words, plain(batch, dtype=torch.float32), words + 1, *said


def policy(batch: int, length: int) -> object:
    """The loss of a policy by what it says of each word, forward and backward."""
    logits, words, advantages, mask, old, reference = rewards(batch, length)
    module = "triton_grpo_loss.decouple_logp_and_loss"
    said = call(module, "fused_selective_log_softmax", logits, words, 0.9, mask)
    return call(module, "triton_grpo_loss", said, advantages, old, reference)[0] * mask


def convolution(batch: int, length: int) -> object:
    """A convolution of a few taps, forward and backward."""
    made = normal(batch, HIDDEN, length), normal(HIDDEN, TAPS), normal(HIDDEN)
    return call("triton_causal_conv1d", "causal_conv1d_fn", *made, activation="silu")


def lightning(batch: int, length: int) -> object:
    """Linear attention to a prompt, and of the token after it."""
    slopes = plain(HEADS, 1, 1, dtype=torch.float32)
    made = plain(batch, length, HEADS, 3 * HEAD), slopes
    _, state = call("lighting_attention", "triton_lighting_attention", *made)
    return call("lighting_attention", "triton_lighting_attention", plain(batch, 1, HEADS, 3 * HEAD), slopes, state)


def latent(batch: int, length: int) -> object:
    """Attention to latents, of a prompt and of the token after it."""
    keys, values = plain(batch, 1, length, LATENT + ROTATED), plain(batch, 1, length, LATENT)
    mask = torch.ones(batch, length, device=DEVICE, dtype=torch.int32)
    for queries in (length, 1):
        query = plain(batch, 16, queries, LATENT + ROTATED)
        call("mla", "triton_mqa", query, keys, values, 0.1, mask)


def sparse(batch: int, length: int) -> object:
    """Native sparse attention, forward and backward; its window is not Triton's."""
    layer = call("nsa_attn", "NsaAttention", HEAD, HEAD, top_n=4).to(DEVICE, torch.bfloat16)
    return layer(normal(batch, length, 16, HEAD), *(normal(batch, length, 1, HEAD) for _ in range(2)))


def eight_bits(batch: int, length: int) -> object:
    """A layer in eight bits around a product that is not Triton's, forward and backward."""
    layer = call("fp8", "DeepLinear", HIDDEN, WIDE).to(DEVICE, torch.bfloat16)
    return layer(normal(batch, length, HIDDEN))


def blocks(batch: int, length: int) -> object:
    """Gated layers in eight bits by blocks, forward and backward."""
    layer = call("fp8_kernel", "Fp8MLP", HIDDEN, WIDE).to(DEVICE, torch.bfloat16)
    return layer(normal(batch, length, HIDDEN))


OPERATORS = {
    "norm": norm,
    "rotate": rotate,
    "gate": gate,
    "gate-whole": gate_whole,
    "loss": loss,
    "extremes": extremes,
    "policy": policy,
    "convolution": convolution,
    "lightning": lightning,
    "latent": latent,
    "sparse": sparse,
    "eight-bits": eight_bits,
    "blocks": blocks,
}

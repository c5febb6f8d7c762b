"""DLBlas: norms, rotations, adapters, attention, products of eight bits, gates of experts."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HIDDEN, VOCABULARY, counts, lengths, plain, starts

REPOSITORY = "DeepLink-org/DLBlas"
COMMIT = "aae234451e772339f4fd075e00894205b87024fc"
BARE = ("dlblas", "dlblas.kernels")
HEADS, GROUPS, WIDE, RANK, ADAPTERS, EXPERTS = 8, 2, 1024, 16, 4, 8
SHAPES = ((1, 16), (2, 33), (3, 100), (4, 256), (1, 777), (2, 1024))
STEPS = ((1, 1), (2, 1), (3, 1), (4, 1), (7, 1))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"dlblas.kernels.{module}"), name)(*arguments, **more)


def half(*shape: int) -> torch.Tensor:
    """Random numbers in half precision."""
    return plain(*shape, dtype=torch.float16)


def gate(batch: int, length: int) -> object:
    """A gated layer's gate."""
    return call("activation", "silu_and_mul", half(batch * length, 2 * WIDE))


def norm(batch: int, length: int) -> object:
    """The norm of sums."""
    tokens = batch * length
    return call("add_rms_norm", "call", half(tokens, HIDDEN), half(HIDDEN), 1e-6, half(tokens, HIDDEN))


def rotate(batch: int, length: int) -> object:
    """Rotations of queries and keys, by tables."""
    tokens = batch * length
    made = half(tokens, HEADS, HEAD), half(tokens, GROUPS, HEAD), half(tokens, HEAD), half(tokens, HEAD)
    return call("apply_rotary_pos_emb", "apply_rotary_pos_emb", *made)


def rotate_fused(batch: int, length: int) -> object:
    """Rotations of queries and keys, by positions."""
    places = torch.arange(length, device=DEVICE).expand(batch, length).contiguous()
    made = half(batch, length, HEADS, HEAD), half(batch, length, GROUPS, HEAD), places
    return call("fused_rotary_emb", "fused_rotary_emb", *made, plain(HEAD // 2, dtype=torch.float32), 1.0)


def adapters(batch: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Which adapter each sequence has, where each one's ranks are, and how many it has."""
    places = torch.arange(ADAPTERS * RANK, device=DEVICE).view(ADAPTERS, RANK)
    return torch.arange(batch, device=DEVICE) % ADAPTERS, places, torch.full((ADAPTERS,), RANK, device=DEVICE)


def adapt(batch: int, length: int) -> object:
    """Products of adapters, both in one kernel."""
    many = lengths(batch, length)
    ids, _, ranks = adapters(batch)
    first = torch.arange(ADAPTERS, device=DEVICE) * RANK
    weights = half(ADAPTERS * RANK, HIDDEN), half(ADAPTERS * RANK, WIDE)
    scale = torch.ones(ADAPTERS, device=DEVICE)
    ends = starts(many)[:-1], counts(many), ids
    made = half(sum(many), HIDDEN), *weights, scale, first, ranks, *ends
    return call("fused_lora", "fused_lora", *made, RANK, max(many))


def adapt_halves(batch: int, length: int) -> object:
    """Products of adapters, one after the other."""
    many = lengths(batch, length)
    ids, places, ranks = adapters(batch)
    ends = starts(many)[:-1], counts(many), ids
    small = call(
        "mbgmm",
        "mbgmm_a",
        half(sum(many), HIDDEN),
        half(ADAPTERS * RANK, HIDDEN),
        *ends,
        places,
        ranks,
        max(many),
        RANK,
    )
    scale = torch.ones(ADAPTERS, device=DEVICE)
    return call(
        "mbgmm", "mbgmm_b", small, half(ADAPTERS * RANK, WIDE), *ends, scale, places, ranks, max(many), RANK, WIDE
    )


def adapt_step(batch: int, _: int) -> object:
    """Products of adapters for one token of each sequence."""
    ids, places, ranks = adapters(batch)
    small = call("mbgmv", "mbgmv_a", half(batch, HIDDEN), half(ADAPTERS * RANK, HIDDEN), ids, places, ranks, RANK)
    scale = torch.ones(ADAPTERS, device=DEVICE)
    return call("mbgmv", "mbgmv_b", small, half(ADAPTERS * RANK, WIDE), ids, scale, places, ranks, RANK, WIDE)


def prefill(batch: int, length: int) -> object:
    """Attention of sequences in a row."""
    many = lengths(batch, length)
    made = half(sum(many), HEADS, HEAD), half(sum(many), GROUPS, HEAD), half(sum(many), GROUPS, HEAD)
    kept = half(sum(many), HEADS, HEAD)
    return call("prefill_attention", "context_attention_fwd", *made, kept, starts(many)[:-1], counts(many), max(many))


def attend_second(batch: int, length: int) -> object:
    """Attention of a batch."""
    return call("flash_attention_v2", "call", *(half(batch, length, HEADS, HEAD) for _ in range(3)))


def index(batch: int, length: int) -> object:
    """How much each token wants of each one before it."""
    tokens = batch * length
    made = half(tokens, 32, HEAD), half(tokens, HEAD), None, plain(tokens, 32, dtype=torch.float32)
    ends = torch.zeros(tokens, device=DEVICE, dtype=torch.int32), torch.arange(1, tokens + 1, device=DEVICE).int()
    return call("lighting_indexer", "mqa_attn_return_logits_interface", *made, *ends)


def linear(batch: int, length: int) -> object:
    """Linear attention with decay, of a prompt."""
    made = (half(batch, HEADS, length, HEAD) for _ in range(3))
    kept = plain(batch, HEADS, HEAD, HEAD, dtype=torch.float32), plain(HEADS, dtype=torch.float32)
    return call("lightning_attn", "lightning_attention_prefill_forward_triton_loop", *made, *kept)


def linear_step(batch: int, _: int) -> object:
    """Linear attention with decay, of one token."""
    made = (half(batch, HEADS, 1, HEAD) for _ in range(3))
    kept = plain(batch, HEADS, HEAD, HEAD, dtype=torch.float32), plain(HEADS, dtype=torch.float32)
    return call("lightning_attn", "lightning_attention_decode_forward_triton", *made, *kept)


def loss(batch: int, length: int) -> object:
    """The loss of reinforcement learning."""
    tokens = batch * length
    logits = (plain(tokens, VOCABULARY, dtype=torch.float32) for _ in range(3))
    made = torch.randint(VOCABULARY, (tokens,), device=DEVICE), plain(tokens, dtype=torch.float32)
    mask = torch.ones(tokens, device=DEVICE)
    return call("grpo_compute_loss_logits", "grpo_loss_triton_optimized", *logits, *made, mask)[0]


def multiply(batch: int, length: int) -> object:
    """Tokens to eight bits, with their norm and without, and times a weight of eight bits."""
    tokens = half(batch, length, HIDDEN)
    call("w8a8", "rms_norm_dynamic_quant", tokens, half(HIDDEN), 1e-6)
    few, scale = call("w8a8", "per_token_quant_int8", tokens, 1e-7)
    weight = torch.randint(-127, 127, (WIDE, HIDDEN), device=DEVICE, dtype=torch.int8)
    return call("w8a8", "matmul_kernel_dynamic_quant", few, weight, scale, plain(WIDE, 1, dtype=torch.float32))


def choose(batch: int, length: int) -> object:
    """The experts of each token, with as many places as they have."""
    return call("topk_gating", "call", plain(batch * length, EXPERTS, dtype=torch.float32), 2)[0]


OPERATORS = {
    "gate": gate,
    "norm": norm,
    "rotate": rotate,
    "rotate_fused": rotate_fused,
    "adapt": adapt,
    "adapt_halves": adapt_halves,
    "adapt_step": adapt_step,
    "prefill": prefill,
    "attend_second": attend_second,
    "index": index,
    "linear": linear,
    "linear_step": linear_step,
    "loss": loss,
    "multiply": multiply,
    "choose": choose,
}
SHAPES_OF = {"adapt_step": STEPS, "linear_step": STEPS}

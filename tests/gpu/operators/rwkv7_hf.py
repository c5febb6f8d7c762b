"""RWKV-7's layers for Hugging Face: mixes, products, the recurrence, and weights of eight bits."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, plain

REPOSITORY = "rwkv-rs/hf-adapter"
COMMIT = "a37956d7ef616cbc7ecbcda0e95483ecf491f5ff"
BARE = ("rwkv7_hf",)
HEADS, RANK = 8, 64
HIDDEN, WIDE = HEADS * HEAD, 4 * HEADS * HEAD
SHAPES = ((1, 16), (2, 33), (3, 100), (4, 256), (1, 777), (2, 1024))
STEPS = ((1, 1), (2, 1), (3, 1), (4, 1), (7, 1))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"rwkv7_hf.{module}"), name)(*arguments, **more)


def half(*shape: int) -> torch.Tensor:
    """Random numbers in half precision."""
    return plain(*shape, dtype=torch.float16)


def state(batch: int) -> torch.Tensor:
    """What the recurrence keeps of each sequence."""
    return plain(batch, HEADS, HEAD, HEAD, dtype=torch.float32)


def mix(batch: int, length: int) -> object:
    """Each token with the one before it, for six uses and for one."""
    tokens, last = half(batch, length, HIDDEN), half(batch, HIDDEN)
    call("fused_time_mix", "fused_ffn_sequence_shift_mix", tokens, last, half(HIDDEN))
    return call("fused_time_mix", "fused_attn_sequence_shift_mix", tokens, last, *(half(HIDDEN) for _ in range(6)))


def mix_step(batch: int, _: int) -> object:
    """One token of each sequence with the one before it, with its norm and without."""
    tokens = half(batch, HIDDEN), half(batch, HIDDEN)
    call("fused_time_mix", "fused_attn_shift_mix", *tokens, *(half(HIDDEN) for _ in range(6)))
    return call("fused_decode_norm_mix", "fused_attn_norm_mix6_decode", *tokens, *(half(HIDDEN) for _ in range(8)))


def feed(batch: int, length: int) -> object:
    """The layer after attention, of all tokens."""
    made = half(batch, length, HIDDEN), half(batch, HIDDEN), half(HIDDEN), half(WIDE, HIDDEN), half(HIDDEN, WIDE)
    return call("fused_ffn", "fused_sequence_ffn", *made)


def feed_step(batch: int, _: int) -> object:
    """The layer after attention, of one token."""
    made = half(batch, HIDDEN), half(batch, HIDDEN), half(HIDDEN), half(WIDE, HIDDEN), half(HIDDEN, WIDE)
    return call("fused_ffn", "fused_ffn", *made)


def prepare(batch: int, length: int) -> object:
    """Keys, values and decays of all tokens."""
    made = (*(half(batch * length, HIDDEN) for _ in range(4)), half(HIDDEN), half(HIDDEN))
    return call("fused_prefill", "fused_prefill_state_prep", *made, num_heads=HEADS, head_dim=HEAD)


def scan(batch: int, length: int) -> object:
    """The recurrence over all tokens."""
    made = (half(batch, length, HEADS, HEAD) for _ in range(6))
    return call("fused_recurrent_update", "fused_recurrent_scan", *made, state(batch))


def scan_whole(batch: int, length: int) -> object:
    """The recurrence over all tokens, with the norm and the gate after it."""
    made = (half(batch, length, HEADS, HEAD) for _ in range(6))
    after = half(batch, length, HEADS, HEAD), half(HEADS, HEAD), half(HIDDEN), half(HIDDEN)
    name = "fused_recurrent_scan_output_prepare"
    return call("fused_recurrent_update", name, *made, state(batch), *after, eps=1e-5)


def step(batch: int, _: int) -> object:
    """The recurrence over one token."""
    made = (half(batch, HEADS, HEAD) for _ in range(6))
    return call("fused_recurrent_update", "fused_recurrent_update", *made, state(batch))


def finish(batch: int, length: int) -> object:
    """The norm and the gate after the recurrence."""
    tokens = batch * length
    made = half(tokens, HIDDEN), *(half(tokens, HEADS, HEAD) for _ in range(3)), half(tokens, HIDDEN)
    sizes = {"num_heads": HEADS, "head_dim": HEAD, "head_v_dim": HEAD, "eps": 1e-5}
    norm = half(HEADS, HEAD), half(HIDDEN), half(HIDDEN)
    return call("fused_output", "fused_attn_output_prepare", *made, *norm, **sizes)


def summarize(batch: int, length: int) -> object:
    """What chunks do to the state, as factors and as matrices."""
    made = [half(batch, length, HEADS, HEAD) for _ in range(5)]
    call("dplr_prefill_triton", "dplr_dense_chunk_summary_triton", *made)
    told = call("dplr_prefill_triton", "dplr_compact_wy_chunk_summary_triton", *made)
    return call("dplr_prefill_triton", "dplr_compact_wy_prefix_combine_triton", state(batch), told)


def lora(batch: int, _: int) -> object:
    """Two small products of one token."""
    weights = half(RANK, HIDDEN), half(RANK, HIDDEN), half(HIDDEN, RANK), half(HIDDEN, RANK)
    return call("fused_lora", "fused_wa_lora", half(batch, HIDDEN), half(batch, HIDDEN), *weights)


def project(batch: int, _: int) -> object:
    """Three products of one token, whole and with their sums split."""
    made = *(half(batch, HIDDEN) for _ in range(3)), *(half(HIDDEN, HIDDEN) for _ in range(3))
    call("fused_projection", "fused_rkv_projection", *made)
    return call("fused_projection", "fused_rkv_projection_splitk", *made)


def square(batch: int, length: int) -> object:
    """The squares of what is positive, in half precision and to eight bits."""
    call("native_quant_bnb8", "fused_bnb8_relu_square_quant", half(batch, length, WIDE))
    return call("fused_elementwise", "fused_relu_square", half(batch, length, WIDE))


def mix_quantized(batch: int, length: int) -> object:
    """Each token with the one before it, to eight bits."""
    made = half(batch, length, HIDDEN), half(batch, HIDDEN), *(half(HIDDEN) for _ in range(6))
    return call("native_quant_bnb8", "fused_bnb8_attn_sequence_mix_quant", *made)


def quantized(batch: int, _: int) -> object:
    """A product of one token and weights of eight bits."""
    weight = torch.randint(-127, 127, (WIDE, HIDDEN), device=DEVICE, dtype=torch.int8)
    return call("native_quant", "int8_rowwise_gemv", half(batch, HIDDEN), weight, plain(WIDE, dtype=torch.float32))


OPERATORS = {
    "mix": mix,
    "mix_step": mix_step,
    "feed": feed,
    "feed_step": feed_step,
    "prepare": prepare,
    "scan": scan,
    "scan_whole": scan_whole,
    "step": step,
    "finish": finish,
    "summarize": summarize,
    "lora": lora,
    "project": project,
    "square": square,
    "mix_quantized": mix_quantized,
    "quantized": quantized,
}
SHAPES_OF = dict.fromkeys(("mix_step", "feed_step", "step", "lora", "project", "quantized"), STEPS) | {
    "summarize": CHUNKS
}

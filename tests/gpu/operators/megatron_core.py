"""Megatron-Core's fused kernels: of experts, rotations, state spaces, and of its inference."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, HIDDEN, counts, normal, plain, starts

PACKAGE = Package("megatron-core", "0.19.2")
EXPERTS, CHOSEN, STATE, CHUNK, PAGE, PAGES = 8, 2, 16, 64, 16, 640
SHAPES_OF = dict.fromkeys(("chunk-state", "chunk-products", "chunk-sums"), CHUNKS)


def call(module: str, name: str, *arguments: Any, **more: Any) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"megatron.core.{module}"), name)(*arguments, **more)


def chosen(tokens: int) -> torch.Tensor:
    """The experts of each token."""
    return torch.randint(0, EXPERTS, (tokens, CHOSEN), device=DEVICE)


def floats(*shape: int) -> torch.Tensor:
    """Single precision."""
    return plain(*shape, dtype=torch.float32)


def multihot(batch: int, length: int) -> object:
    """The experts of each token as a mask."""
    tokens = batch * length
    made = chosen(tokens), normal(tokens, CHOSEN, dtype=torch.float32)
    return call("fusions.fused_indices_converter", "fused_indices_to_multihot", *made, EXPERTS)[1]


def pad_map(batch: int, length: int) -> object:
    """A mask of experts, padded."""
    mask = torch.ones(batch * length, EXPERTS, device=DEVICE, dtype=torch.bool)
    return call("fusions.fused_pad_routing_map", "fused_pad_routing_map", mask, 16)


def rotate_queries(batch: int, length: int) -> object:
    """The rotation of a part of each head of the queries."""
    angles = [floats(length, 1, 1, 32) for _ in range(2)]
    queries = normal(length, batch, HEADS, HEAD + 32) * 1
    return call("fusions.fused_mla_yarn_rope_apply", "fused_apply_mla_rope_for_q", queries, *angles, HEAD, 32)


def rotate_keys(batch: int, length: int) -> object:
    """The rotation of keys, next to values."""
    angles = [floats(length, 1, 1, 32) for _ in range(2)]
    made = normal(length, batch, HEADS, HEAD * 2), normal(length, batch, 1, 32)
    return call("fusions.fused_mla_yarn_rope_apply", "fused_apply_mla_rope_for_kv", *made, *angles, 32, HEAD, HEAD)


def permute(batch: int, length: int) -> object:
    """Tokens in the order of their experts, and back."""
    tokens = batch * length
    made = plain(tokens, HIDDEN), floats(tokens, CHOSEN), chosen(tokens).int(), 0, EXPERTS, counts([tokens])
    return call("inference.moe.permute", "permute_tokens", *made)


def quantize(batch: int, length: int) -> object:
    """Shared exponents."""
    return call("inference.quantization.mxfp8_quantize", "mxfp8_quantize", plain(batch * length, HIDDEN))


def squared(batch: int, length: int) -> object:
    """A squared rectifier that skips padding."""
    rows = batch * length
    made = plain(rows, HIDDEN), torch.arange(rows, device=DEVICE, dtype=torch.int32), counts([rows])
    return call("inference.moe.activations", "padded_squared_relu", *made)


def append(batch: int, length: int) -> object:
    """Keys and values of new tokens into pages."""
    tokens = batch * length
    made = [plain(tokens, 1, HEADS, HEAD) for _ in range(2)]
    memory = plain(2, 1, PAGES, PAGE, HEADS, HEAD)
    where = [torch.arange(tokens, device=DEVICE) // PAGE % PAGES, torch.arange(tokens, device=DEVICE) % PAGE]
    return call(
        "inference.contexts.fused_kv_append_kernel", "triton_append_key_value_cache", 0, *made, memory, tokens, *where
    )


def update_states(batch: int, length: int) -> object:
    """The states of some requests."""
    where = torch.arange(batch, device=DEVICE)
    made = floats(16, HEADS, HEAD), where, floats(batch, HEADS, HEAD)
    return call("inference.contexts.attention_context.triton.tensor_ops", "tensor_masked_update", *made)


def state_update(batch: int, length: int) -> object:
    """One token of each sequence."""
    x, steps = (plain(batch, 1, HEADS, HEAD) for _ in range(2))
    b, c = (plain(batch, 1, 1, STATE) for _ in range(2))
    made = floats(batch, HEADS, HEAD, STATE), x, steps, floats(HEADS, HEAD, STATE), b, c, floats(HEADS, HEAD)
    return call("ssm.ops.mamba_ssm", "selective_state_update", *made)


def chunks(batch: int, length: int) -> torch.Tensor:
    """Where each chunk of all tokens begins, and the end."""
    return torch.arange(0, batch * length + 1, CHUNK, device=DEVICE, dtype=torch.int32)


def chunk_sums(batch: int, length: int) -> object:
    """The decay of each chunk."""
    made = plain(batch * length, HEADS), floats(HEADS), CHUNK, chunks(batch, length)
    return call("ssm.ops.ssd_chunk_state", "_chunk_cumsum_fwd", *made)


def chunk_products(batch: int, length: int) -> object:
    """Products within each chunk."""
    made = plain(batch * length, 1, STATE), plain(batch * length, 1, STATE), CHUNK, chunks(batch, length)
    return call("ssm.ops.ssd_bmm", "_bmm_chunk_fwd", *made)


def chunk_state(batch: int, length: int) -> object:
    """The state after each chunk."""
    tokens = batch * length
    steps = [floats(HEADS, tokens // CHUNK, CHUNK) for _ in range(2)]
    made = plain(tokens, 1, STATE), plain(tokens, HEADS, HEAD), *steps, chunks(batch, length)
    return call("ssm.ops.ssd_chunk_state", "_chunk_state_fwd", *made)


def convolution(batch: int, length: int) -> object:
    """A causal convolution over sequences one after another."""
    made = plain(batch * length, HIDDEN), plain(HIDDEN, 4), plain(HIDDEN), starts([length] * batch)
    return call("ssm.ops.causal_conv1d_varlen", "causal_conv1d_varlen_fn", *made)


def convolution_step(batch: int, length: int) -> object:
    """One token of each sequence."""
    made = plain(batch, 1, HIDDEN), plain(batch, HIDDEN, 4), plain(HIDDEN, 4), plain(HIDDEN), True, None
    return call("ssm.ops.causal_conv1d_triton", "causal_conv1d_update", *made)


def invariant(name: str) -> Any:
    """A layer whose result does not depend on the batch."""

    def run(batch: int, length: int) -> object:
        x = plain(batch * length, HIDDEN)
        more = {"matmul_persistent": (plain(HIDDEN, 256),), "mean_dim": (-1,), "log_softmax": ()}[name]
        return call("transformer.custom_layers.batch_invariant_kernels", name, x, *more)

    return run


def mask_padding(batch: int, length: int) -> object:
    """Experts of tokens that are no tokens."""
    made = chosen(batch * length), counts([batch * length])
    return call("transformer.moe.inference_routing_mask_kernel", "mask_routing_padding", *made)


OPERATORS = {
    "multihot": multihot,
    "pad-map": pad_map,
    "rotate-queries": rotate_queries,
    "rotate-keys": rotate_keys,
    "permute": permute,
    "quantize": quantize,
    "squared": squared,
    "append": append,
    "update-states": update_states,
    "state-update": state_update,
    "chunk-sums": chunk_sums,
    "chunk-products": chunk_products,
    "chunk-state": chunk_state,
    "convolution": convolution,
    "convolution-step": convolution_step,
    "product": invariant("matmul_persistent"),
    "mean": invariant("mean_dim"),
    "log-softmax": invariant("log_softmax"),
    "mask-padding": mask_padding,
}

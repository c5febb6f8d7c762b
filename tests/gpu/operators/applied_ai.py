"""PyTorch's kernels of applied AI: experts, few bits, convolution, pages, norm and softmax."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import HEAD, HEADS, HIDDEN, PAGE, PAGES, counts, lengths, normal, page_table, plain

REPOSITORY = "meta-pytorch/applied-ai"
COMMIT = "2391954b19988bd76cf3c2ea84c1ce74b68d568b"
INFERENCE = "kernels/triton/inference"
FOLDERS = (
    f"{INFERENCE}/fp8",
    f"{INFERENCE}/mamba/causal_1d_conv/causal_1d_conv",
    f"{INFERENCE}/paged_attention",
    f"{INFERENCE}/flash_attention",
    f"{INFERENCE}/torch_compile",
    "kernels/triton/training/fused_softmax",
    "kernels/triton/training/rms_norm",
)
WIDE, TAPS, PIECE = 1024, 4, 128


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of a file."""
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def half(*shape: int) -> torch.Tensor:
    """Half precision."""
    return plain(*shape, dtype=torch.float16)


def eight_bits(batch: int, length: int) -> object:
    """All tokens in eight bits, and by weights of eight bits."""
    tokens = batch * length
    call("float8_groupwise_quant", "float8_groupwise_quantize", plain(tokens, HIDDEN))
    codes, weight = (plain(*size).to(torch.float8_e4m3fn) for size in ((tokens, HIDDEN), (HIDDEN, WIDE)))
    call("scaled_fp8_gemm", "scaled_mm_splitk", codes, weight)
    return call("splitk_gemm_fp8", "gemm_split_k", codes, weight)


def convolve(batch: int, length: int) -> object:
    """A causal convolution over a sequence."""
    tokens = half(batch, length, HIDDEN).transpose(1, 2)
    return call("causal_1d_conv", "causal_conv1d_fwd", tokens, half(HIDDEN, TAPS), half(HIDDEN), activation="silu")


def pages(batch: int, length: int) -> object:
    """One token of each sequence against its pages, whole and in pieces."""
    room = -(-length // PIECE) * PIECE
    out, query = half(batch, HEADS, HEAD), half(batch, HEADS, HEAD)
    caches = [half(PAGES, HEADS, HEAD, PAGE) for _ in range(2)]
    table, held = page_table(batch, length), counts(lengths(batch, length))
    more = batch, HEADS, room, table.shape[1], HEAD
    made = out, query, *caches, HEAD**-0.5, table, held, PAGE
    call("attention_triton", "paged_attention_triton_v1", *made, *more)
    return call("attention_triton", "paged_attention_triton_v2", *made, PIECE, *more)


def attention(batch: int, length: int) -> object:
    """Attention of a sequence to itself."""
    made = [half(batch, HEADS, length, HEAD) for _ in range(3)]
    call("stay_attention", "flash_fn", *made)
    return call("flash_backward", "attention", *made, HEAD**-0.5)


def norm(batch: int, length: int) -> object:
    """A norm of all tokens, forward and backward."""
    made = normal(batch * length, HIDDEN), normal(HIDDEN), 1e-6
    return importlib.import_module("fused_rms_norm").ttt_RMSNorm.apply(*made)


def softmax(batch: int, length: int) -> object:
    """A softmax of all tokens."""
    return importlib.import_module("softmax").triton_softmax.apply(plain(batch * length, HIDDEN))


OPERATORS = {
    "eight-bits": eight_bits,
    "convolve": convolve,
    "pages": pages,
    "attention": attention,
    "norm": norm,
    "softmax": softmax,
}

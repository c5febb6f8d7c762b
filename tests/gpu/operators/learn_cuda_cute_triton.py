"""The Triton lessons of learn-cuda-cute-triton: sums, products, norms, softmaxes and attention."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import HEAD, HEADS, HIDDEN, plain

REPOSITORY = "LeoYangXY/learn-cuda-cute-triton"
COMMIT = "71ab0b2868669c0a78a9a35ea692726ce0151f6d"
FOLDERS = ("triton", "triton/flash_attention")
WIDE = 1024


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of one of the lessons."""
    return getattr(importlib.import_module(module), name)(*arguments)


def add(batch: int, length: int) -> object:
    """All tokens and what went past."""
    return call("add", "triton_add", *(plain(batch * length * HIDDEN, dtype=torch.float32) for _ in range(2)))


def product(batch: int, length: int) -> object:
    """Tokens times a layer, in two orders."""
    made = plain(batch * length, HIDDEN, dtype=torch.float16), plain(HIDDEN, WIDE, dtype=torch.float16)
    call("gemm", "matmul_baseline", *made)
    return call("gemm", "matmul_grouped", *made)


def norm(batch: int, length: int) -> object:
    """A norm of tokens, in two ways."""
    made = [plain(*shape, dtype=torch.float32) for shape in ((batch * length, HIDDEN), (HIDDEN,), (HIDDEN,))]
    call("layer-norm", "layer_norm_fwd_naive_wrapper", *made)
    return call("layer-norm", "layer_norm_fwd_wrapper", *made)


def sums(batch: int, length: int) -> object:
    """The sum of each sequence's numbers, in three ways."""
    made = plain(batch, length, dtype=torch.float32)
    for name in ("1block", "atomic", "two_stage"):
        call("reduce", f"triton_reduce_sum_{name}", made)
    return None


def softmax(batch: int, length: int) -> object:
    """A softmax of all pairs' scores, a row and several rows at a time."""
    made = plain(batch * length, length, dtype=torch.float32)
    call("softmax", "triton_softmax_multi_rows", made)
    return call("softmax", "triton_softmax", made)


def attention(batch: int, length: int) -> object:
    """Attention to all tokens, in two orders."""
    made = [plain(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(3)]
    call("flash_attention_v1", "flash_attention_fa1", *made, HEAD**-0.5)
    return call("flash_attention_v2", "flash_attention", *made, HEAD**-0.5)


OPERATORS = {
    "add": add,
    "product": product,
    "norm": norm,
    "sums": sums,
    "softmax": softmax,
    "attention": attention,
}

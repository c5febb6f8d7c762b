"""cuda-triton-multiarch's teaching kernels: norms, activations, attention and products."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("cuda-triton-multiarch", "0.1.3")
BARE = ("kernels",)


def of(module: str) -> object:
    """One module of the package."""
    return importlib.import_module(f"kernels.{module}")


def half(*shape: int) -> torch.Tensor:
    """A random tensor in half precision."""
    return plain(*shape, dtype=torch.float16)


def rows(module: str, name: str, *, gate: bool = False, weight: bool = False) -> Callable[[int, int], object]:
    """A function of rows of features."""

    def call(batch: int, length: int) -> object:
        made = [half(batch * length, HIDDEN) for _ in range(1 + gate)] + [half(HIDDEN) for _ in range(weight)]
        return getattr(of(module), name)(*made)

    return call


def scores(batch: int, length: int) -> object:
    """The softmax of attention scores."""
    return of("softmax").softmax_triton(half(batch * HEADS, length))


def one_head(module: str, name: str) -> Callable[[int, int], object]:
    """Attention of one head of one sequence."""

    def call(batch: int, length: int) -> object:
        return getattr(of(module), name)(*(half(length, HEAD) for _ in range(3)))

    return call


def heads(*, causal: bool) -> Callable[[int, int], object]:
    """Attention of a batch of heads."""

    def call(batch: int, length: int) -> object:
        made = [half(batch, HEADS, length, HEAD) for _ in range(3)]
        return of("flash_attention_full").flash_attention_full_triton(*made, causal=causal)

    return call


def product(bits: int) -> Callable[[int, int], object]:
    """A product with weights of some bits."""

    def call(batch: int, length: int) -> object:
        module = of("quantized_matmul")
        x, weight = half(batch * length, HIDDEN), half(HIDDEN, HIDDEN)
        if bits == 16:
            return module.matmul_fp16_triton(x, weight)
        packed = torch.ones(HIDDEN, HIDDEN // 2, device=DEVICE, dtype=torch.uint8)
        if bits == 4:
            return module.matmul_int4_triton(x, packed, *(half(HIDDEN // 128, HIDDEN) for _ in range(2)))
        return module.matmul_int8_triton(x, torch.ones_like(weight, dtype=torch.int8), half(HIDDEN), half(HIDDEN))

    return call


OPERATORS = {
    "norm": rows("rmsnorm", "rmsnorm_triton", weight=True),
    "swiglu": rows("swiglu", "swiglu_triton", gate=True),
    "norm-swiglu": rows("fused_rmsnorm_swiglu", "fused_rmsnorm_swiglu_triton", gate=True, weight=True),
    "scores": scores,
    "attention": one_head("attention", "attention_triton"),
    "attention-blocks": one_head("flash_attention", "flash_attention_triton"),
    "attention-heads": heads(causal=False),
    "attention-heads-causal": heads(causal=True),
    "product": product(16),
    "product-eight-bits": product(8),
    "product-four-bits": product(4),
}

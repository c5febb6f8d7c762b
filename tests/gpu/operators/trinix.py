"""The operators of trinix."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable


def kernel(module: str, name: str) -> type:
    """One of the package's kernels, by its class."""
    made: type = getattr(importlib.import_module(f"trinix.kernels.{module}"), name)
    return made


def activation(module: str, name: str, wide: int = HIDDEN) -> Callable[[int, int], object]:
    """An activation over every position."""
    return lambda batch, length: kernel(module, name).apply(normal(batch, length, wide))


def norm(module: str, name: str, biases: int) -> Callable[[int, int], object]:
    """A norm, with so many biases."""

    def call(batch: int, length: int) -> object:
        weights = [normal(HIDDEN) for _ in range(1 + biases)]
        return kernel(module, name).apply(normal(batch, length, HIDDEN), *weights, 1e-6)

    return call


def rotary(batch: int, length: int) -> object:
    """Positions turned into angles."""
    angles = [plain(length, HEAD) for _ in range(2)]
    made = [normal(batch, length, HEADS, HEAD) for _ in range(2)]
    return kernel("rope_kernel", "TritonRoPEKernel").apply(*made, *angles)


def alibi(batch: int, length: int) -> object:
    """A bias by distance."""
    apply = kernel("alibi_kernel", "TritonALiBiKernel").apply
    return apply(plain(HEADS, dtype=torch.float32), batch, HEADS, length)


def attention(**options: object) -> Callable[[int, int], object]:
    """Flash attention."""

    def call(batch: int, length: int) -> object:
        from trinix import triton_attn_func

        return triton_attn_func(*(plain(batch, length, HEADS, HEAD, dtype=torch.float16) for _ in range(3)), **options)

    return call


def masked_attention(batch: int, length: int) -> object:
    """Flash attention under a mask."""
    from trinix import triton_attn_func

    made = [plain(batch, length, HEADS, HEAD, dtype=torch.float16) for _ in range(3)]
    return triton_attn_func(*made, attn_mask=plain(batch, HEADS, length, length, dtype=torch.float16))


def self_attention(batch: int, length: int) -> object:
    """Attention as a layer."""
    from trinix import FastMultiHeadSelfAttention

    layer = FastMultiHeadSelfAttention(HIDDEN, HEADS, kernel_type="triton", position_method="rope")
    return layer.to(DEVICE, torch.float16)(plain(batch, length, HIDDEN, dtype=torch.float16))


def optimizer(name: str) -> Callable[[int, int], object]:
    """One step over weights whose size is the model's."""

    def call(batch: int, length: int) -> object:
        weight = torch.nn.Parameter(plain(HIDDEN, HIDDEN, dtype=torch.float32))
        made = getattr(importlib.import_module("trinix.optim"), name)([weight], lr=1e-3)
        (plain(batch * length, HIDDEN, dtype=torch.float32) @ weight).sum().backward()
        made.step()
        return None

    return call


OPERATORS = {
    "mish": activation("mish_kernel", "TritonMishKernel"),
    "quickgelu": activation("quickgelu_kernel", "TritonQuickGELUKernel"),
    "squared-relu": activation("squared_relu_kernel", "TritonSquaredReLUKernel"),
    "geglu": activation("geglu_kernel", "TritonGeGLUKernel", 2 * HIDDEN),
    "reglu": activation("reglu_kernel", "TritonReGLUKernel", 2 * HIDDEN),
    "swiglu": activation("swigelu_kernel", "TritonSwiGLUKernel", 2 * HIDDEN),
    "rms-norm": norm("rmsnorm_kernel", "TritonRMSNormKernel", 0),
    "layer-norm": norm("layernorm_kernel", "TritonLayerNormKernel", 1),
    "rope": rotary,
    "alibi": alibi,
    "attention": attention(),
    "attention-causal": attention(causal=True),
    "attention-masked": masked_attention,
    "self-attention": self_attention,
    "adamw": optimizer("FastAdamW"),
    "muon": optimizer("FastMuon"),
}

"""LaCT's weights that learn chunk after chunk, and the steps of which that consists."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import normal, plain

REPOSITORY = "a1600012888/LaCT"
COMMIT = "1f84d479fee89e34c58d74a0cf399c2b70564845"
FOLDERS = ("lact_llm",)
# The package itself imports models.
BARE = ("lact_model",)
WIDE, INNER, CHUNK = 128, 256, 256
SHAPES = ((1, 128), (2, 256), (3, 512), (5, 640), (4, 1024), (2, 1536))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"lact_model.{module}"), name)(*arguments, **more)


def rates(batch: int, length: int) -> list[torch.Tensor]:
    """How fast each of three weights learns from each token."""
    return [plain(batch, length, dtype=torch.float32) for _ in range(3)]


def learn(name: str, batch: int, length: int) -> object:
    """Weights that learn from chunks, forward and backward."""
    shapes = (batch, INNER, WIDE), (batch, WIDE, INNER), (batch, INNER, WIDE)
    weights = [normal(*shape, dtype=torch.float32) for shape in shapes]
    tokens = [normal(batch, length, WIDE) for _ in range(3)]
    speeds = [normal(batch, length, 1, dtype=torch.float32) for _ in range(3)]
    made = *weights, *tokens, *speeds
    more = {"chunk_size": CHUNK, "momentum": plain(batch, length, 1, dtype=torch.float32)}
    return call("ttt_operation_fused_kernel", name, *made, **more)


def before(batch: int, length: int) -> object:
    """Weights that are normalized before they learn."""
    return learn("prenorm_block_causal_lact_swiglu_fused_kernel_triton", batch, length)


def after(batch: int, length: int) -> object:
    """Weights that are normalized after they learnt."""
    return learn("postnorm_block_causal_lact_swiglu_fused_kernel_triton", batch, length)


def gate(batch: int, length: int) -> object:
    """Two layers and a gate."""
    made = plain(batch, 2 * INNER, WIDE), plain(batch, length, WIDE)
    return call("lact_triton_kernels.triton_swiglu_kernels", "fused_two_mm_swiglu_triton", *made)


def backward(batch: int, length: int) -> object:
    """What a gate's three layers hand back, with and without rates."""
    made = (
        plain(batch, 2 * INNER, WIDE),
        plain(batch, WIDE, INNER),
        plain(batch, length, WIDE),
        plain(batch, length, WIDE),
    )
    name = "swiglu_backward_three_bmm"
    call("lact_triton_kernels.triton_swiglu_bwd_kernels", f"{name}_triton", *made)
    slow = rates(batch, length)
    call("lact_triton_kernels.triton_swiglu_bwd_with_lr", f"{name}_with_lr_triton", *made, *slow)
    return None


def twice(batch: int, length: int) -> object:
    """What a gate's gradient hands back."""
    inner, both = plain(batch, INNER, length), plain(batch, 2 * INNER, length)
    made = inner, both, *rates(batch, length), plain(*both.shape), plain(*inner.shape)
    call("lact_triton_kernels.triton_pointwise_kernels", "triton_swiglu_bwd_bwd_fused_cat_inp_out", *made)
    return None


def products(batch: int, length: int) -> object:
    """Two products in one sum."""
    weights = [plain(batch, INNER, WIDE) for _ in range(2)]
    tokens = [plain(batch, INNER, length) for _ in range(2)]
    made = weights[0], tokens[0], weights[1], tokens[1]
    name = "fused_two_mm_same_out_interface"
    return call("lact_triton_kernels.triton_fused_matmul_kernels", name, *made, A_transpose=True, B_transpose=False)


def norm(batch: int, length: int) -> object:
    """A sum's norm times a scale, forward and backward."""
    made = normal(batch, length, WIDE, dtype=torch.float32), normal(batch, length, WIDE)
    scale = normal(batch, length, dtype=torch.float32)
    return call("lact_triton_kernels.l2norm_triton_kernels", "l2_norm_add_fused", *made, scale)


OPERATORS = {
    "before": before,
    "after": after,
    "gate": gate,
    "backward": backward,
    "twice": twice,
    "products": products,
    "norm": norm,
}

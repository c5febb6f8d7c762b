"""Liger's operators as its truth's recording called them: that program is gone, and this was made from what it saw."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators import tensors

if TYPE_CHECKING:
    from collections.abc import Callable

ONE_PROCESS = True
SHAPES = (
    (1, 1),
    (2, 7),
    (3, 17),
    (4, 33),
    (6, 48),
    (1, 64),
    (5, 100),
    (8, 128),
    (1, 256),
    (2, 513),
    (2, 777),
    (2, 1024),
)
HEADS, HEAD, HIDDEN, VOCABULARY = 8, 64, 512, 1000


def of(module: str, name: str) -> Callable[..., object]:
    """`apply` of one function."""
    return getattr(importlib.import_module(f"liger_kernel.ops.{module}"), f"Liger{name}Function").apply


def normal(*shape: int) -> torch.Tensor:
    """A random tensor in single precision that wants its gradient."""
    return tensors.normal(*shape, dtype=torch.float32)


def rowwise(module: str, name: str, *weights: tuple[int, ...], more: tuple[object, ...] = ()) -> Callable[..., object]:
    """An operator on hidden states, with weights of these shapes."""

    def call(batch: int, length: int) -> object:
        made = (normal(*shape) for shape in ((batch, length, HIDDEN), *weights))
        return of(module, name)(*made, *more)

    return call


def added_norm(batch: int, length: int) -> object:
    """The norm with a residual; both of what it returns are differentiated."""
    made = normal(batch, length, HIDDEN), normal(batch, length, HIDDEN), normal(HIDDEN)
    first, second = of("fused_add_rms_norm", "FusedAddRMSNorm")(*made, 1e-6, 0.0, "llama", False)
    return first + second


def gated(module: str, name: str) -> Callable[..., object]:
    """An activation of one input that another is multiplied by."""
    return lambda batch, length: of(module, name)(*(normal(batch, length, HIDDEN) for _ in range(2)))


def group_norm(batch: int, length: int) -> object:
    made = normal(batch, HEADS, length), normal(HEADS), normal(HEADS)
    return of("group_norm", "GroupNorm")(*made, HEADS, 1, 1e-6)


def rope(batch: int, length: int) -> object:
    states = (normal(batch, HEADS, length, HEAD) for _ in range(2))
    angles = torch.randn(1, length, HEAD, device=tensors.DEVICE)
    query, key = of("rope", "Rope")(*states, angles.cos(), angles.sin())
    return query.sum() + key.sum()


def labels(batch: int, length: int) -> torch.Tensor:
    """A word for each position."""
    return torch.randint(0, VOCABULARY, (batch * length,), device=tensors.DEVICE)


def cross_entropy(batch: int, length: int) -> object:
    return of("cross_entropy", "CrossEntropy")(normal(batch * length, VOCABULARY), labels(batch, length), None)


def linear_cross_entropy(batch: int, length: int) -> object:
    made = normal(batch * length, HIDDEN), normal(VOCABULARY, HIDDEN), labels(batch, length)
    return of("fused_linear_cross_entropy", "FusedLinearCrossEntropy")(*made)


def linear_jsd(batch: int, length: int) -> object:
    made = (normal(*shape) for shape in ((batch * length, HIDDEN), (VOCABULARY, HIDDEN)) * 2)
    return of("fused_linear_jsd", "FusedLinearJSD")(*made)


def divergence(module: str, name: str, *more: object) -> Callable[..., object]:
    """A loss between two distributions."""

    def call(batch: int, length: int) -> object:
        made = (normal(batch * length, VOCABULARY).log_softmax(-1) for _ in range(2))
        return of(module, name)(*made, *more)

    return call


OPERATORS = {
    "layer-norm": rowwise("layer_norm", "LayerNorm", (HIDDEN,), (HIDDEN,), more=(1e-6,)),
    "rms-norm": rowwise("rms_norm", "RMSNorm", (HIDDEN,), more=(1e-6,)),
    "added-norm": added_norm,
    "poly-norm": rowwise("poly_norm", "PolyNorm", (3,), (), more=(1e-6, False)),
    "dyt": rowwise("dyt", "DyT", (1,), (HIDDEN,), (HIDDEN,)),
    "group-norm": group_norm,
    "rope": rope,
    "swiglu": gated("swiglu", "SiLUMul"),
    "geglu": gated("geglu", "GELUMul"),
    "relu-squared": rowwise("relu_squared", "ReLUSquared"),
    "softmax": rowwise("softmax", "Softmax"),
    "sparsemax": rowwise("sparsemax", "Sparsemax", more=(-1,)),
    "cross-entropy": cross_entropy,
    "linear-cross-entropy": linear_cross_entropy,
    "jsd": divergence("jsd", "JSD"),
    "linear-jsd": linear_jsd,
    "kl-div": divergence("kl_div", "KLDivLoss", "mean"),
    "tvd": divergence("tvd", "TVDLoss", None, "mean"),
}

"""The operators of matmulfreellm."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, VOCABULARY, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "ridgerchu/matmulfreellm"
COMMIT = "a016f72847efab5778ddeed100b856f0d1639e75"
BARE = ("mmfreelm", "mmfreelm.modules", "mmfreelm.ops")


def of(module: str) -> object:
    """One module of the package; its modules name each other through a package that is not run here."""
    modules = importlib.import_module("mmfreelm.modules")
    modules.RMSNorm = importlib.import_module("mmfreelm.modules.layernorm").RMSNorm
    return importlib.import_module(f"mmfreelm.{module}")


def norm(name: str, *, residual: bool = False, prenorm: bool = False) -> Callable[[int, int], object]:
    """One of the norms, with its weights in single precision."""

    def call(batch: int, length: int) -> object:
        more = {"residual": normal(batch, length, HIDDEN)} if residual else {}
        layer = getattr(of("modules.layernorm"), name)(HIDDEN).to(DEVICE)
        return layer(normal(batch, length, HIDDEN), prenorm=prenorm, **more)

    return call


def norm_linear(name: str) -> Callable[[int, int], object]:
    """A norm with the projection behind it."""

    def call(batch: int, length: int) -> object:
        layer = getattr(of("modules.layernorm"), name)(HIDDEN).to(DEVICE)
        made = normal(batch, length, HIDDEN, dtype=torch.float32), normal(2 * HIDDEN, HIDDEN, dtype=torch.float32)
        return layer(*made, None)

    return call


def gated_norm(batch: int, length: int) -> object:
    """The norm under a gate."""
    layer = of("modules.fused_norm_gate").FusedRMSNormSwishGate(HIDDEN).to(DEVICE)
    return layer(normal(batch, length, HIDDEN), normal(batch, length, HIDDEN))


def l2_norm(batch: int, length: int) -> object:
    """The norm of a vector."""
    return of("modules.l2norm").l2_norm_fn(normal(batch, length, HIDDEN), 1e-6)


def cross_entropy(**options: object) -> Callable[[int, int], object]:
    """The loss over the vocabulary."""

    def call(batch: int, length: int) -> object:
        labels = torch.randint(0, VOCABULARY, (batch * length,), device=DEVICE)
        loss = of("modules.fused_cross_entropy").FusedCrossEntropyLoss(**options)
        return loss(normal(batch * length, VOCABULARY), labels)

    return call


def bit_linear(name: str) -> Callable[[int, int], object]:
    """A projection whose weights have one bit and a half."""

    def call(batch: int, length: int) -> object:
        layer = getattr(of("ops.fusedbitnet"), name)(HIDDEN, 2 * HIDDEN).to(DEVICE)
        return layer(normal(batch, length, HIDDEN, dtype=torch.float32))

    return call


def hgrn(name: str, module: str, *, state: bool = False) -> Callable[[int, int], object]:
    """The gated recurrence; `state` with a state to begin with, whose last is kept."""

    def call(batch: int, length: int) -> object:
        x, gate = (normal(batch, HEADS, length, HEAD, dtype=torch.float32) for _ in range(2))
        more = {"initial_state": plain(batch, HEADS, HEAD, dtype=torch.float32), "output_final_state": True}
        return getattr(of(module), name)(x, gate, **(more if state else {}))

    return call


OPERATORS = {
    "layer-norm": norm("LayerNorm"),
    "rms-norm": norm("RMSNorm"),
    "rms-norm-residual": norm("RMSNorm", residual=True, prenorm=True),
    "layer-norm-linear": norm_linear("LayerNormLinear"),
    "rms-norm-linear": norm_linear("RMSNormLinear"),
    "gated-norm": gated_norm,
    "l2-norm": l2_norm,
    "cross-entropy": cross_entropy(),
    "cross-entropy-smooth": cross_entropy(label_smoothing=0.1, inplace_backward=True),
    "bit-linear": bit_linear("BitLinear"),
    "fused-bit-linear": bit_linear("FusedBitLinear"),
    "hgrn-recurrent": hgrn("fused_recurrent_hgrn", "ops.hgrn.recurrent_fuse"),
    "hgrn-recurrent-state": hgrn("fused_recurrent_hgrn", "ops.hgrn.recurrent_fuse", state=True),
    "hgrn-chunk": hgrn("chunk_hgrn", "ops.hgrn.chunk"),
}

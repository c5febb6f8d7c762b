"""KohakuMoss' norms, residuals, gates and rotations of packed samples, and its quantization."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("kohakumoss", "0.1.0")


def call(module: str, name: str, *arguments: Any) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"kohakumoss_kernels.backends.triton.{module}"), name)(*arguments)


def samples(batch: int, length: int) -> torch.Tensor:
    """Which sample each token is of."""
    return torch.arange(batch, device=DEVICE, dtype=torch.int32).repeat_interleave(length)


def norm(batch: int, length: int) -> object:
    """A norm, with a shift and a scale of each sample."""
    made = normal(batch * length, HIDDEN), normal(HIDDEN), normal(batch, HIDDEN), normal(batch, HIDDEN)
    return call("blocks.norm", "rms_norm_mod", *made, samples(batch, length), 1e-6)


def residual(batch: int, length: int) -> object:
    """A sum with what is gated for each sample."""
    made = normal(batch * length, HIDDEN), normal(batch * length, HIDDEN), normal(batch, HIDDEN)
    return call("blocks.residual", "gated_residual", *made, samples(batch, length), 1.0)


def gated(batch: int, length: int) -> object:
    """A gated unit."""
    return call("blocks.ffn", "situ_glu", normal(batch * length, 2 * HIDDEN))


def loss(batch: int, length: int) -> object:
    """A weighted loss of each sample."""
    made = normal(batch * length, HIDDEN), plain(batch * length, HIDDEN), samples(batch, length)
    return call("blocks.loss", "token_mse", *made, plain(batch, dtype=torch.float32), None)


def rotate(batch: int, length: int) -> object:
    """Norm and rotation of each head."""
    tokens = batch * length
    made = [normal(tokens, HEADS, HEAD), normal(tokens, HEADS, HEAD), normal(HEAD), normal(HEAD)]
    angles = [plain(tokens, 2, dtype=torch.float32), plain(HEAD // 4, dtype=torch.float32)]
    return call("blocks.rope", "qk_norm_rope", *made, *angles, 1e-6)


def quantize(name: str, *more: bool) -> Callable[[int, int], object]:
    """Eight bits."""

    def run(batch: int, length: int) -> object:
        return call("fp8.quantize", name, plain(batch * length, HIDDEN), *more)

    return run


OPERATORS = {
    "norm": norm,
    "residual": residual,
    "gated": gated,
    "loss": loss,
    "rotate": rotate,
    "quantize-rows": quantize("quantize_rows"),
    "quantize-tensor": quantize("quantize_tensor"),
    "quantize-blocks": quantize("quantize_blocks", False),
}

"""sdnq's products and attention of eight bits."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("sdnq", "0.2.8")
BARE = ("sdnq", "sdnq.kernels")
WIDE = 256


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"sdnq.kernels.{module}"), name)(*arguments, **more)


def bytes_of(*shape: int) -> torch.Tensor:
    """Numbers of eight bits."""
    return torch.randint(-8, 8, shape, device=DEVICE, dtype=torch.int8)


def product(batch: int, length: int) -> object:
    """All tokens against a weight."""
    return call("triton_mm", "sdnq_triton_mm", bytes_of(batch * length, HIDDEN), bytes_of(HIDDEN, WIDE))


def scaled(batch: int, length: int) -> object:
    """The same, with a scale for each token and each column, and a bias."""
    scales = plain(batch * length, 1, dtype=torch.float32), plain(1, WIDE, dtype=torch.float32)
    made = bytes_of(batch * length, HIDDEN), bytes_of(HIDDEN, WIDE), *scales, plain(WIDE, dtype=torch.float32)
    return call("triton_scaled_mm", "sdnq_scaled_mm", *made)


def attention(*, causal: bool = False, wide: bool = False) -> Callable[[int, int], object]:
    """Queries, keys and values alike, or `wide`: prompts of a fixed length."""

    def run(batch: int, length: int) -> object:
        keys = 77 if wide else length
        made = [plain(batch, HEADS, tokens, HEAD) for tokens in (length, keys, keys)]
        return call("triton_atten", "sdnq_triton_atten", *made, is_causal=causal)

    return run


def trained(batch: int, length: int) -> object:
    """Attention forward and backward."""
    made = [normal(batch, HEADS, length, HEAD) for _ in range(3)]
    return call("triton_atten_backward", "sdnq_triton_atten_with_backward", *made)


OPERATORS = {
    "product": product,
    "scaled": scaled,
    "attention": attention(),
    "causal": attention(causal=True),
    "prompt": attention(wide=True),
    "trained": trained,
}

"""transformer-nuggets' attention with a bias, its quantization and its products of eight bits."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("transformer-nuggets", "0.0.4")
BARE = (
    "transformer_nuggets",
    "transformer_nuggets.flash",
    "transformer_nuggets.fp8",
    "transformer_nuggets.quant",
)
WHOLE = ((1, 128), (2, 256), (3, 384), (5, 512), (6, 640), (7, 896), (1, 768), (2, 1024), (3, 1152), (1, 1664))
SHAPES_OF = dict.fromkeys(("attention", "attention-biased"), WHOLE)


def take(module: str, name: str) -> Any:
    """A name of the library."""
    return getattr(importlib.import_module(f"transformer_nuggets.{module}"), name)


def attention(bias: str, *, causal: bool) -> Callable[[int, int], object]:
    """Queries, keys and values alike; whole blocks of them."""

    def run(batch: int, length: int) -> object:
        made = [normal(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(3)]
        kind = take("flash.masks", "BiasMode")[bias]
        return take("flash.flash_attention", "attention")(*made, causal, 0.125, kind)[0]

    return run


def scaled(batch: int, length: int) -> object:
    """To eight bits by a scale that is known."""
    one = torch.ones(1, device=DEVICE)
    return take("fp8.scaled_quant", "scaled_quant")(plain(batch * length, HIDDEN), one, torch.zeros_like(one))


def scaled_now(batch: int, length: int) -> object:
    """To eight bits by the largest."""
    return take("fp8.scaled_quant", "dynamic_scaled_quant")(plain(batch * length, HIDDEN))


def weight(batch: int, length: int) -> object:
    """A weight of four bits, whatever the batch."""
    held = take("quant.nf4_tensor", "NF4Tensor").from_tensor(plain(HIDDEN, HIDDEN))
    return take("quant.dequant_kernel", "dequant_nf4_tensor")(held)


OPERATORS = {
    "attention": attention("none", causal=True),
    "attention-biased": attention("rel_pos", causal=False),
    "scaled": scaled,
    "scaled-now": scaled_now,
    "weight": weight,
}

"""GPTQ-for-LLaMa's products with packed weights, its norm and its rotary embedding."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "qwopqwop200/GPTQ-for-LLaMa"
COMMIT = "e985b700f19e670bad9b949cd83056889dd31448"
BARE = ("quant",)
UNUSED = (
    "transformers",
    "transformers.models",
    "transformers.models.llama",
    "transformers.models.llama.modeling_llama",
)
BITS, GROUP = 4, 128


def of(module: str) -> object:
    """One module of the package."""
    return importlib.import_module(f"quant.{module}")


def linear(inputs: int, outputs: int) -> object:
    """A projection whose weights are packed."""
    return of("quant_linear").QuantLinear(BITS, GROUP, inputs, outputs, bias=False).to(DEVICE)


def project(*, gradient: bool) -> Callable[[int, int], object]:
    """A projection, with the gradient of its input or without."""

    def call(batch: int, length: int) -> object:
        x = (normal if gradient else plain)(batch, length, HIDDEN, dtype=torch.float16)
        return linear(HIDDEN, 2 * HIDDEN)(x)

    return call


def feed_forward(batch: int, length: int) -> object:
    """Two projections and their activation in one kernel."""
    gate, up, down = linear(HIDDEN, 2 * HIDDEN), linear(HIDDEN, 2 * HIDDEN), linear(2 * HIDDEN, HIDDEN)
    return of("fused_mlp").QuantLlamaMLP(gate, down, up)(plain(batch, length, HIDDEN, dtype=torch.float16))


def norm(batch: int, length: int) -> object:
    """The norm."""
    weight = plain(HIDDEN, dtype=torch.float16)
    return of("triton_norm").TritonLlamaRMSNorm(weight)(plain(batch, length, HIDDEN, dtype=torch.float16))


def rotate(batch: int, length: int) -> object:
    """The embedding of positions, in place."""
    both = plain(batch, length, 2, HEADS, HEAD, dtype=torch.float16)
    positions = torch.arange(length, device=DEVICE).expand(batch, length).contiguous()
    of("fused_attn").triton_rotate_half_(both, positions)


OPERATORS = {
    "linear": project(gradient=False),
    "linear-gradient": project(gradient=True),
    "feed-forward": feed_forward,
    "norm": norm,
    "rotate": rotate,
}

"""convert-to-quant's products of eight bits."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

PACKAGE = Package("convert-to-quant", "1.3.4")
BARE = ("convert_to_quant", "convert_to_quant.comfy")
WIDE, GROUP = 256, 128


def call(name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("convert_to_quant.comfy.int8_kernels"), name)(*arguments)


def bytes_of(*shape: int) -> torch.Tensor:
    """Numbers of eight bits."""
    return torch.randint(-8, 8, shape, device=DEVICE, dtype=torch.int8)


def floats(*shape: int) -> torch.Tensor:
    """Scales."""
    return plain(*shape, dtype=torch.float32)


def tokens(batch: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantized tokens and their scales."""
    return bytes_of(batch, length, HIDDEN), floats(batch, length, HIDDEN // GROUP)


def weight() -> tuple[torch.Tensor, torch.Tensor]:
    """A quantized weight and its scales."""
    return bytes_of(WIDE, HIDDEN), floats(WIDE // GROUP, HIDDEN // GROUP)


def activations(batch: int, length: int) -> object:
    """Quantize and back."""
    return call("act_dequant", *call("act_quant", plain(batch, length, HIDDEN)))


def activations_by_row(batch: int, length: int) -> object:
    """Quantize each token."""
    return call("act_quant_rowwise", plain(batch * length, HIDDEN))


def weights(batch: int, length: int) -> object:
    """A weight, whatever the batch."""
    return call("weight_dequant", *call("weight_quant", plain(WIDE, HIDDEN)))


def product(batch: int, length: int) -> object:
    """All tokens against a weight."""
    return call("int8_gemm", *tokens(batch, length), *weight())


def product_bias(batch: int, length: int) -> object:
    """The same with a bias."""
    return call("int8_addmm", *tokens(batch, length), *weight(), floats(WIDE))


def product_quantized(batch: int, length: int) -> object:
    """The same, the product quantized again."""
    return call("int8_gemm_quant", *tokens(batch, length), *weight())


def product_bias_quantized(batch: int, length: int) -> object:
    """The same with a bias, the product quantized again."""
    return call("int8_addmm_quant", *tokens(batch, length), *weight(), floats(WIDE))


def product_by_row(batch: int, length: int) -> object:
    """A scale for each token and for each row of the weight."""
    made = bytes_of(batch * length, HIDDEN), floats(batch * length), bytes_of(WIDE, HIDDEN), floats(WIDE)
    return call("int8_addmm_per_row", *made, floats(WIDE))


def gelu(batch: int, length: int) -> object:
    """An activation of quantized tokens."""
    return call("int8_gelu", *tokens(batch, length))


OPERATORS = {
    "activations": activations,
    "activations-by-row": activations_by_row,
    "weights": weights,
    "product": product,
    "product-bias": product_bias,
    "product-quantized": product_quantized,
    "product-bias-quantized": product_bias_quantized,
    "product-by-row": product_by_row,
    "gelu": gelu,
}

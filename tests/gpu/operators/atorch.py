"""ATorch's norms, losses, biases of experts and products of eight bits."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, VOCABULARY, normal, plain

REPOSITORY = "intelligent-machine-learning/atorch"
COMMIT = "7fb7da86be5794c57440db5b96f3278c158f0c7a"
BARE = ("atorch", "atorch.kernels", "atorch.kernels.triton_jit", "atorch.modules", "atorch.modules.fp8", "atorch.utils")
EXPERTS, WIDE = 8, 1024
SHAPES = ((1, 1), (2, 33), (3, 100), (4, 256), (1, 777), (2, 1024))


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"atorch.{module}"), name)(*arguments)


def layer_norm(batch: int, length: int) -> object:
    """A layer norm, forward and backward."""
    made = normal(batch, length, HIDDEN), (HIDDEN,), normal(HIDDEN), normal(HIDDEN), 1e-6
    return call("kernels.triton_jit.atorch_layer_norm", "atorch_layer_norm", *made)


def rms_norm(batch: int, length: int) -> object:
    """A norm by root mean squares, forward and backward."""
    module = importlib.import_module("atorch.kernels.triton_jit.rmsnorm_kernel")
    return module.AtorchRmsNormFunc.apply(normal(batch, length, HIDDEN), normal(HIDDEN), 1e-6)


def add_bias(batch: int, length: int) -> object:
    """The bias of each token's expert, forward and backward."""
    experts = torch.randint(EXPERTS, (batch * length,), device=DEVICE).sort().values
    made = normal(batch * length, HIDDEN), normal(EXPERTS, HIDDEN), experts
    return call("kernels.triton_jit.bias_gather_add", "bias_gather_add", *made)


def loss(batch: int, length: int) -> object:
    """The loss of all tokens, forward and backward."""
    labels = torch.randint(VOCABULARY, (batch * length,), device=DEVICE)
    made = normal(batch * length, VOCABULARY, dtype=torch.float32), labels
    return call("kernels.triton_jit.cross_entropy", "cross_entropy_loss", *made)[0]


def multiply(batch: int, length: int) -> object:
    """Activations and weights to eight bits, and their product."""
    module = "modules.fp8.triton_kernel"
    tokens, scales = call(module, "tile_quant", plain(batch * length, HIDDEN))
    weight, blocks = call(module, "block_quant", plain(WIDE, HIDDEN))
    return call(module, "fp8_gemm", tokens, scales, weight, blocks, torch.bfloat16)


def widen(batch: int, length: int) -> object:
    """Activations to eight bits and back."""
    module = "modules.fp8.triton_kernel"
    return call(module, "dequant", *call(module, "tile_quant", plain(batch * length, HIDDEN)))


OPERATORS = {
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "add_bias": add_bias,
    "loss": loss,
    "multiply": multiply,
    "widen": widen,
}

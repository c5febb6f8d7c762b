"""fp8-coat's layers between which activations stay in eight bits."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

PACKAGE = Package("fp8-coat", "1.0.11")
BARE = ("coat", "coat.activation")
KIND, GROUP = "E4M3", 16
# Whole blocks of rows.
SHAPES = ((1, 128), (2, 256), (3, 384), (5, 512), (6, 640), (7, 896), (4, 1280), (2, 1664))


def call(name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("coat.activation.real_quantization"), name)(*arguments, **more)


def tokens(batch: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens in eight bits, with a scale for each group."""
    codes = plain(batch, length, HIDDEN).to(torch.float8_e4m3fn)
    return codes, plain(batch, length, HIDDEN // GROUP)


def quantize(batch: int, length: int) -> None:
    """To eight bits: by group, by block and by tensor, and back."""
    codes = call("fp8_quantize", plain(batch, length, HIDDEN), GROUP, KIND)
    call("fp8_dequantize", *codes, GROUP)
    call("fp8_quantize_perblock", plain(batch, length, HIDDEN), GROUP, KIND)


def quantize_tensor(batch: int, length: int) -> object:
    """To eight bits by the largest of all, and its transpose."""
    call("fp8_quantize_pertensor", plain(batch, length, HIDDEN), GROUP, KIND)
    return call("fp8_quantize_pertensor_transpose", plain(batch, length, HIDDEN), GROUP, KIND, True)


def transpose(batch: int, length: int) -> object:
    """The transpose of all tokens."""
    return call("fp8_transpose", tokens(batch, length)[0], transpose_output_2d=True)


def silu(batch: int, length: int) -> object:
    """An activation, forward and backward."""
    call("fp8_silu_forward", *tokens(batch, length), GROUP)
    return call("fp8_silu_backward", *tokens(batch, length), plain(batch, length, HIDDEN), GROUP, KIND)


def gelu(batch: int, length: int) -> object:
    """An activation, forward and backward."""
    call("fp8_gelu_forward", *tokens(batch, length), GROUP)
    return call("fp8_gelu_backward", *tokens(batch, length), plain(batch, length, HIDDEN), GROUP, KIND)


def multiply(batch: int, length: int) -> object:
    """A gate, forward and backward."""
    two = *tokens(batch, length), *tokens(batch, length)
    call("fp8_mul_forward", *two, GROUP)
    return call("fp8_mul_backward", *two, plain(batch, length, HIDDEN), GROUP, KIND)


def add(batch: int, length: int) -> object:
    """A residual, forward and backward."""
    two = [plain(batch, length, HIDDEN) for _ in range(2)]
    call("fp8_add_Ifp_Ifp_Ofp_Og16", *two, torch.float8_e4m3fn, GROUP)
    return call("fp8_add_Ifp_Ifp_Ofp_Opt", *two, GROUP, torch.float8_e4m3fn)


def rms_norm(batch: int, length: int) -> object:
    """A norm, forward."""
    return call("fp8_rmsnorm_forward", *tokens(batch, length), plain(HIDDEN), GROUP, 1e-6)


def layer_norm(batch: int, length: int) -> object:
    """A norm with and without parameters, forward."""
    call("fp8_layernorm_noparam_forward", *tokens(batch, length), GROUP, 1e-6)
    return call("fp8_layernorm_param_forward", *tokens(batch, length), plain(HIDDEN), plain(HIDDEN), GROUP, 1e-6)


def linear(batch: int, length: int) -> object:
    """All tokens against a weight of eight bits."""
    weight = plain(HIDDEN, HIDDEN).to(torch.float8_e4m3fn).t()
    one = torch.ones(1, device=DEVICE)
    return call("fp8_linear_forward", tokens(batch, length)[0], one, weight, one, False, GROUP)


OPERATORS = {
    "quantize": quantize,
    "quantize-tensor": quantize_tensor,
    "transpose": transpose,
    "silu": silu,
    "gelu": gelu,
    "multiply": multiply,
    "add": add,
    "rms-norm": rms_norm,
    "layer-norm": layer_norm,
    "linear": linear,
}

"""Jetfire's layers in eight bits by blocks: rounding, gates, norms, dropout and sums."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HIDDEN, plain

REPOSITORY = "thu-ml/Jetfire-INT8Training"
COMMIT = "55563553682643aef58fe2acbfacca64fd4c8d3c"
BARE = ("Jetfire", "Jetfire.Nonlinear")
BLOCK = 32
SHAPES = CHUNKS


def call(module: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    file, _, name = module.partition(":")
    return getattr(importlib.import_module(f"Jetfire.Nonlinear.{file}"), name)(*arguments, **more)


def small(batch: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens in eight bits and their scales."""
    values = torch.zeros(batch, length, HIDDEN, device=DEVICE, dtype=torch.int8)
    return values, plain(batch, length // BLOCK, HIDDEN // BLOCK, dtype=torch.float16)


def rounded(batch: int, length: int) -> object:
    """Tokens to eight bits, at once with their transpose, and back."""
    tokens = plain(batch, length, HIDDEN, dtype=torch.float16)
    call("quantize_transpose:int8_quantize_transpose", tokens, BLOCK, stochastic=True, transpose_output_2d=True)
    values, scales = call("quantize:int8_quantize", tokens, BLOCK)
    call("transpose:int8_transpose", values, transpose_output_2d=True)
    return call("dequantize:int8_dequantize", values, scales, BLOCK)


def gate(batch: int, length: int) -> object:
    """A gate and its gradient."""
    call("gelu_fwd:int8_gelu_forward", *small(batch, length), BLOCK)
    return call("gelu_bwd:int8_gelu_backward", *small(batch, length), *small(batch, length), BLOCK)


def norm(batch: int, length: int) -> object:
    """A norm and its gradient."""
    weight, tokens = plain(HIDDEN, dtype=torch.float32), batch * length
    mean, spread = (plain(tokens, dtype=torch.float32) for _ in range(2))
    call("layernorm:int8_layernorm_forward", *small(batch, length), weight, mean, spread, BLOCK)
    made = *small(batch, length), *small(batch, length)
    return call("layernorm:int8_layernorm_backward", *made, weight, BLOCK, mean, spread)


def drop(batch: int, length: int) -> object:
    """Some tokens to zero."""
    mask = torch.ones(batch, length, HIDDEN, device=DEVICE, dtype=torch.int8)
    share = plain(1, dtype=torch.float32)
    return call("dropout_fwd:int8_dropout_forward", *small(batch, length), mask, share, BLOCK)


def past(batch: int, length: int) -> object:
    """Tokens in eight bits added to what went past, also with means for the next norm."""
    tokens = plain(batch, length, HIDDEN, dtype=torch.float16)
    call("add:int8_add_Ifp_Ig16_Ofp_Og", tokens, *small(batch, length), BLOCK)
    return call("add_mean_var:int8_add_Ifp_Ig16_Ofp_Og_MeanVar", tokens, *small(batch, length), BLOCK)


OPERATORS = {"rounded": rounded, "gate": gate, "norm": norm, "drop": drop, "past": past}

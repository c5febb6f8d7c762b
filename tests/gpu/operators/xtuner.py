"""xtuner's eight bits, norms, attention with a sink, and products of groups."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEADS, HIDDEN, normal, plain, starts

REPOSITORY = "InternLM/xtuner"
COMMIT = "b934f462095c1e750229de35367c50ae36caa786"
BARE = (
    "xtuner",
    "xtuner.v1",
    "xtuner.v1.ops",
    "xtuner.v1.ops.rms_norm",
    "xtuner.v1.ops.flash_attn",
    "xtuner.v1.float8",
    "xtuner.v1.float8.triton_kernels",
    "xtuner.v1.utils",
    "xtuner.v1.optim",
)
HEAD, GROUPS = 64, 4
# The library takes whole blocks of 128 tokens.
BLOCKS = ((1, 128), (2, 256), (3, 384), (5, 512), (6, 640), (7, 896), (4, 1280), (2, 1664))
SHAPES_OF = dict.fromkeys(("tiles", "transposed", "groups"), BLOCKS)


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"xtuner.v1.{module}"), name)(*arguments, **more)


def tiles(batch: int, length: int) -> object:
    """All tokens in eight bits, by tiles and by blocks."""
    tokens = plain(batch * length, HIDDEN)
    call("float8.triton_kernels.per_tile_quant", "per_tile_quant", tokens)
    return call("float8.triton_kernels.trans_per_block_quant_gemm", "trans_per_block_quant_gemm", tokens)


def transposed(batch: int, length: int) -> object:
    """Gradients in eight bits, transposed."""
    name = "trans_per_tile_quant_gemm"
    return call(f"float8.triton_kernels.{name}", name, plain(batch * length, HIDDEN))


def groups(batch: int, length: int) -> object:
    """The tokens of experts in eight bits, transposed and padded."""
    tokens = batch * length
    sizes = torch.tensor([tokens // GROUPS] * GROUPS, device=DEVICE, dtype=torch.int64)
    name = "trans_per_tile_quant_expand_128x"
    return call("float8.triton_kernels.trans_quant_per_tile", name, plain(tokens, HIDDEN), sizes)


def norm(batch: int, length: int) -> object:
    """The norm of all tokens, forward and backward, with what goes past the layer."""
    made = normal(batch, length, HIDDEN), normal(HIDDEN), None
    return call("ops.rms_norm.gpu", "rms_norm_fn", *made, residual=normal(batch, length, HIDDEN))


def attention(batch: int, length: int) -> object:
    """Attention of packed sequences with a sink for each head, forward and backward."""
    made = [normal(batch * length, HEADS, HEAD) for _ in range(3)]
    name = "flash_sink_attn_varlen_func"
    found = importlib.import_module("xtuner.v1.ops.flash_attn.flash_sink_varlen_attn_gpt_oss")
    return getattr(found, name)(*made, normal(HEADS), starts([length] * batch), None)


def newton_schulz(batch: int, length: int) -> object:
    """One step of Muon for a weight."""
    return call("optim.newton_schulz_triton", "newton_schulz_triton", plain(HIDDEN, 2 * HIDDEN))


OPERATORS = {
    "tiles": tiles,
    "transposed": transposed,
    "groups": groups,
    "norm": norm,
    "attention": attention,
    "newton-schulz": newton_schulz,
}

"""Operators of torchao that are written in Triton."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, HIDDEN, counts, plain

if TYPE_CHECKING:
    from collections.abc import Callable

EIGHT = torch.float8_e4m3fn
ATTENTION = "torchao.prototype.attention.quantization"
BLOCKWISE = "torchao.prototype.blockwise_fp8_training.kernels"
GROUPED = "torchao.prototype.moe_training.kernels.jagged_float8_scales"
EXPERTS = 4


def found(module: str, name: str) -> Callable[..., object]:
    """One of its functions."""
    made: Callable[..., object] = getattr(importlib.import_module(module), name)
    return made


def attention(module: str, name: str) -> Callable[[int, int], object]:
    """Queries, keys and values brought to eight bits, by head."""
    return lambda batch, length: found(module, name)(*(plain(batch, HEADS, length, HEAD) for _ in range(3)))


def rotary_attention(batch: int, length: int) -> object:
    made = [plain(batch, length, HEADS, HEAD) for _ in range(3)]
    angles = [plain(length, HEAD, dtype=torch.float32) for _ in range(2)]
    return found(f"{ATTENTION}.triton_rope_qkv_quantization", "triton_fp8_rope_sdpa_quantize")(*made, *angles)


def by_block(module: str, name: str) -> Callable[[int, int], object]:
    """Rows brought to eight bits, a block at a time."""
    return lambda batch, length: found(module, name)(plain(batch * length, HIDDEN))


def blocked_gemm(batch: int, length: int) -> object:
    module = "torchao.kernel.blockwise_quantization"
    rows, scale = found(module, "fp8_blockwise_act_quant")(plain(batch * length, HIDDEN))
    weight, by_weight = found(module, "fp8_blockwise_weight_quant")(plain(HIDDEN, HIDDEN))
    found(module, "fp8_blockwise_weight_dequant")(weight, by_weight)
    return found(module, "blockwise_fp8_gemm")(rows, scale, weight, by_weight)


def training_gemm(batch: int, length: int) -> object:
    rows, scale = found(BLOCKWISE, "triton_fp8_blockwise_act_quant_lhs")(plain(batch * length, HIDDEN))
    weight, by_weight = found(BLOCKWISE, "triton_fp8_blockwise_weight_quant_transposed_rhs")(plain(HIDDEN, HIDDEN))
    return found(BLOCKWISE, "triton_fp8_gemm_1x128_128x128")(rows, weight, scale, by_weight)


def grouped(batch: int, length: int) -> object:
    rows = batch * length
    ends = counts([rows * (i + 1) // EXPERTS for i in range(EXPERTS)])
    found(GROUPED, "triton_fp8_per_group_rowwise_scales")(plain(rows, HIDDEN), ends)
    columns = plain(HIDDEN, rows).t()
    found(GROUPED, "triton_fp8_per_group_colwise_scales")(columns, ends)


def experts_weights(batch: int, length: int) -> object:
    module = "torchao.prototype.moe_training.kernels.float8_rowwise"
    weight = plain(EXPERTS, HIDDEN, HIDDEN).transpose(-2, -1)
    found(module, "triton_fp8_rowwise_3d_transpose_rhs")(weight)
    found(module, "triton_fp8_rowwise_2d_scale_and_cast")(plain(batch * length, HIDDEN))


def permuted(batch: int, length: int) -> object:
    held = counts([batch * length // EXPERTS] * EXPERTS)
    apply = found("torchao.prototype.moe_training.ep.permute", "permute_and_pad")
    return apply(plain(int(held.sum()), HIDDEN), held, 1, EXPERTS, 32)


def int8_gemm(batch: int, length: int) -> object:
    importlib.import_module("torchao.prototype.quantized_training.int8_mm")
    rows = torch.ones(batch * length, HIDDEN, device=DEVICE, dtype=torch.int8)
    weight = torch.ones(HIDDEN, HIDDEN, device=DEVICE, dtype=torch.int8)
    scales = torch.ones(batch * length, 1, device=DEVICE), torch.ones(1, HIDDEN, device=DEVICE)
    return torch.ops.torchao.scaled_int8_mm(rows, weight, *scales)


def whole_tensor(algorithm: str) -> Callable[[int, int], object]:
    """A tensor under one scale, in both layouts."""

    def call(batch: int, length: int) -> object:
        kernels = importlib.import_module("torchao.prototype.float8nocompile.kernels.fp8_dynamic_tensorwise")
        config = importlib.import_module("torchao.float8.float8_training_tensor").LinearMMConfig()
        chosen = getattr(kernels.KernelAlgorithm, algorithm)
        for name in ("row_major", "row_major_t", "col_major", "col_major_t", "row_and_col_major"):
            getattr(kernels, f"hp_to_fp8_{name}")(plain(batch * length, HIDDEN), EIGHT, config, algo=chosen)

    return call


OPERATORS = {
    "attention": attention(f"{ATTENTION}.triton_qkv_quantization", "triton_fp8_sdpa_quantize"),
    "attention-hadamard": attention(
        f"{ATTENTION}.triton_hadamard_qkv_quantization", "triton_fp8_hadamard_sdpa_quantize"
    ),
    "attention-inference": attention(
        "torchao.prototype.fp8_sdpa_inference.fp8_sdpa_quantization", "fp8_sdpa_quantize_func"
    ),
    "attention-rotary": rotary_attention,
    "rows-lhs": by_block(BLOCKWISE, "triton_fp8_blockwise_act_quant_lhs"),
    "rows-rhs": by_block(BLOCKWISE, "triton_fp8_blockwise_act_quant_rhs"),
    "rows-transposed": by_block(BLOCKWISE, "triton_fp8_blockwise_act_quant_transposed_lhs"),
    "blocked-gemm": blocked_gemm,
    "training-gemm": training_gemm,
    "grouped": grouped,
    "experts-weights": experts_weights,
    "permuted": permuted,
    "int8-gemm": int8_gemm,
    "whole-tensor": whole_tensor("ATOMIC_MAX"),
    "whole-tensor-reduced": whole_tensor("REDUCTION"),
}
SHAPES_OF = dict.fromkeys(("rows-lhs", "rows-rhs", "rows-transposed", "training-gemm", "grouped", "permuted"), CHUNKS)

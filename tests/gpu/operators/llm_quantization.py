"""Layers of four bits, with a scale for each row and group of weights, and those packed and as they were."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

REPOSITORY = "anaaaiva/llm-quantization"
COMMIT = "3f51e63d685dd314169a3cb99be466c7c9083418"
FOLDERS = (".", "kernels")
UNUSED = ("transformers",)
WIDE, GROUP = 1024, 128


def apply(mode: str, batch: int, length: int, group: int | None = None) -> object:
    """Tokens times a layer of four bits."""
    linear = torch.nn.Linear(HIDDEN, WIDE, device=DEVICE, dtype=torch.float16)
    module = importlib.import_module("kernels.quant_linear")
    layer = module.QuantLinearInt4(HIDDEN, WIDE, mode=mode, group_size=group, device=DEVICE)
    layer.quantize_from_linear(linear)
    return layer(plain(batch, length, HIDDEN, dtype=torch.float16))


def rows(batch: int, length: int) -> object:
    """With a scale for each row."""
    return apply("rowwise", batch, length)


def groups(batch: int, length: int) -> object:
    """With a scale for each group."""
    return apply("groupwise", batch, length, GROUP)


def one(batch: int, length: int) -> object:
    """With one scale."""
    return apply("global", batch, length)


def again(batch: int, length: int) -> object:
    """Activations to four bits and back."""
    tokens = plain(batch * length, HIDDEN, dtype=torch.float16)
    grouped = importlib.import_module("kernels.groupwise_quant")
    grouped.dequant_groupwise_int4_int32(*grouped.quant_groupwise_int4_int32(tokens))
    by_row = importlib.import_module("kernels.rowwise_quant")
    return by_row.dequant_rowwise_int4_int32(*by_row.quant_rowwise_int4_int32(tokens))


OPERATORS = {"rows": rows, "groups": groups, "one": one, "again": again}

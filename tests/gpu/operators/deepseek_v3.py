"""DeepSeek-V3's products of tokens and a layer in floats of 8 bits, and weights as they were."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

REPOSITORY = "deepseek-ai/DeepSeek-V3"
COMMIT = "9b4e9788e4a3a731f7567338ed15d3ec549ce03b"
FOLDERS = ("inference",)
WIDE, BLOCK = 1024, 128


def product(batch: int, length: int) -> object:
    """Tokens to 8 bits and times a layer."""
    kernel = importlib.import_module("kernel")
    weight = torch.zeros(WIDE, HIDDEN, device=DEVICE, dtype=torch.float8_e4m3fn)
    scales = plain(WIDE // BLOCK, HIDDEN // BLOCK, dtype=torch.float32)
    return kernel.fp8_gemm(*kernel.act_quant(plain(batch, length, HIDDEN)), weight, scales)


def rounded(batch: int, length: int) -> object:
    """Tokens to 8 bits with scales that are powers of two."""
    return importlib.import_module("kernel").act_quant(plain(batch, length, HIDDEN), scale_fmt="ue8m0")


def weights(_batch: int, _length: int) -> object:
    """A layer's weights as they were."""
    weight = torch.zeros(WIDE, HIDDEN, device=DEVICE, dtype=torch.float8_e4m3fn)
    return importlib.import_module("kernel").weight_dequant(weight, plain(WIDE // BLOCK, HIDDEN // BLOCK))


OPERATORS = {"product": product, "rounded": rounded, "weights": weights}

"""FP-Quant's activations in four bits, and the sums of its calibration."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

REPOSITORY = "IST-DASLab/FP-Quant"
COMMIT = "d2e3092f968262c4de5fb050e1aef568a280dadd"
FOLDERS = ("inference_lib/src", "src")
BARE = ("fp_quant", "fp_quant.module", "quantization")


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def four_bits(batch: int, length: int) -> object:
    """All tokens in MXFP4."""
    name = "mxfp4_forward_kernel_wrapper"
    return call("fp_quant.module.triton.mxfp4", name, plain(batch, length, HIDDEN), plain(32, 32))


def four_bits_scaled(batch: int, length: int) -> object:
    """All tokens in NVFP4."""
    scale = torch.ones((), device=DEVICE, dtype=torch.float32)
    name = "nvfp4_forward_kernel_wrapper"
    return call("fp_quant.module.triton.nvfp4", name, plain(batch, length, HIDDEN), plain(16, 16), scale)


def calibrate(batch: int, length: int) -> object:
    """The tokens' Hessian added up."""
    sums = torch.zeros(HIDDEN, HIDDEN, device=DEVICE, dtype=torch.float32)
    call("quantization.accumulate_hessian", "accumulate_hessian", sums, plain(batch * length, HIDDEN))
    return sums


OPERATORS = {"four-bits": four_bits, "four-bits-scaled": four_bits_scaled, "calibrate": calibrate}

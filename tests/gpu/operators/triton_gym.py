"""The lessons of triton-gym: sums, numbers of 8 bits, products and a layer of both."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HIDDEN, normal, plain

REPOSITORY = "lightb0x/triton-gym"
COMMIT = "6a6a994a596d8b8438d78d456ad58466b15d4d9b"
FOLDERS = ("6_gemm_fp8", "5_matmul", "4_quantize_fp8", "3_add")
WIDE = 1024
SHAPES_OF = {"tiles": CHUNKS, "layer": CHUNKS}


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function or make an object of the lessons."""
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def add(batch: int, length: int) -> object:
    """A parameter added to tokens, forward and backward."""
    made = normal(batch, length, HIDDEN, dtype=torch.float32)
    return call("add", "Add", torch.ones(batch, length, HIDDEN, device=DEVICE))(made)


def rectified(batch: int, length: int) -> object:
    """A parameter added to tokens and what is positive of them, forward and backward."""
    made = normal(batch, length, HIDDEN, dtype=torch.float32)
    return call("add", "Add", torch.ones(batch, length, HIDDEN, device=DEVICE), apply_relu=True)(made)


def tiles(batch: int, length: int) -> object:
    """Tokens to 8 bits with a scale for each tile."""
    return call("quantize", "Quantize")(plain(batch * length, HIDDEN, dtype=torch.float32))


def product(batch: int, length: int) -> object:
    """Tokens times a layer."""
    made = plain(batch * length, HIDDEN, dtype=torch.float16), plain(HIDDEN, WIDE, dtype=torch.float16)
    return call("matmul_func", "matmul", *made, plain(WIDE, dtype=torch.float16))


def layer(batch: int, length: int) -> object:
    """Tokens times a layer in 8 bits, forward and backward."""
    return call("linear", "Linear", HIDDEN, WIDE, device=DEVICE)(normal(batch * length, HIDDEN, dtype=torch.float32))


OPERATORS = {
    "add": add,
    "rectified": rectified,
    "tiles": tiles,
    "product": product,
    "layer": layer,
}

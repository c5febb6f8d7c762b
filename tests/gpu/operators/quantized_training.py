"""Products and convolutions of 8-bit numbers, and tokens to four bits, of quantized-training's kernels."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HIDDEN, plain

REPOSITORY = "gau-nernst/quantized-training"
COMMIT = "01607b37784cb5f7bf559670ce4f7d71d9608bed"
FOLDERS = ("kernels",)
BARE = ("gn_kernels",)
WIDE, CHANNELS, TALL, BLOCK = 1024, 64, 16, 128
SHAPES_OF = {"blocks": CHUNKS, "four": CHUNKS}


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    importlib.import_module("gn_kernels._lib")
    return getattr(importlib.import_module(f"gn_kernels.{module}"), name)(*arguments, **more)


def eight(*shape: int) -> torch.Tensor:
    """Whole numbers of 8 bits."""
    return torch.zeros(shape, device=DEVICE, dtype=torch.int8)


def scales(*shape: int) -> torch.Tensor:
    """A scale for each row, column or block."""
    return plain(*shape, dtype=torch.float32)


def product(batch: int, length: int) -> object:
    """Tokens times a layer, in 16 and 8 bits."""
    call("triton_mm", "_triton_mm", plain(batch * length, HIDDEN), plain(WIDE, HIDDEN).T)
    return call("triton_mm", "_triton_mm", eight(batch * length, HIDDEN), eight(WIDE, HIDDEN).T, torch.int32)


def weight_gradient(batch: int, length: int) -> object:
    """The gradient of a layer's weights."""
    return call("triton_mm", "_triton_mm", plain(batch * length, WIDE).T, plain(batch * length, HIDDEN))


def whole(batch: int, length: int) -> object:
    """Tokens times a layer in 8 bits, by the operator that is registered for it."""
    return call("triton_mm", "int8_mm", eight(batch * length, HIDDEN), eight(WIDE, HIDDEN).T)


def rows(batch: int, length: int) -> object:
    """Tokens times a layer with a scale for each row and column."""
    made = eight(batch * length, HIDDEN), eight(WIDE, HIDDEN).T
    return call("triton_mm", "scaled_mm", *made, scales(batch * length, 1), scales(1, WIDE))


def blocks(batch: int, length: int) -> object:
    """Tokens times a layer with a scale for each block."""
    made = eight(batch * length, HIDDEN), eight(WIDE, HIDDEN).T
    held = scales(batch * length // BLOCK, HIDDEN // BLOCK), scales(HIDDEN // BLOCK, WIDE // BLOCK)
    return call("triton_mm", "scaled_mm", *made, *held)


def images(batch: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Images of TALL rows and `length` columns, and a layer's weights."""
    made = eight(batch, CHANNELS, TALL, length), eight(2 * CHANNELS, CHANNELS, 3, 3)
    return made[0].to(memory_format=torch.channels_last), made[1].to(memory_format=torch.channels_last)


def convolution(batch: int, length: int) -> object:
    """A convolution of images, of stride one and two."""
    call("triton_conv2d", "_triton_conv2d", *images(batch, length), (2, 2), (1, 1))
    return call("triton_conv2d", "_triton_conv2d", *images(batch, length), (1, 1), (1, 1))


def scaled(batch: int, length: int) -> object:
    """A convolution with a scale for each channel."""
    made = *images(batch, length), scales(2 * CHANNELS)
    return call("triton_conv2d", "_triton_scaled_int8_conv2d", *made, (1, 1), (1, 1))


def four(batch: int, length: int) -> object:
    """Tokens to four bits."""
    return call("utils", "quantize_nvfp4_triton", plain(batch * length, HIDDEN), scales(1))


OPERATORS = {
    "product": product,
    "weight-gradient": weight_gradient,
    "whole": whole,
    "rows": rows,
    "blocks": blocks,
    "convolution": convolution,
    "scaled": scaled,
    "four": four,
}

"""Layers, convolutions, losses, norms and tables of points of ld_triton."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, normal, plain

REPOSITORY = "l1351868270/ld_triton"
COMMIT = "fc3796283e7c9dfe1c0112387846cfdc4eb71809"
UNUSED = ("cutlass", "spconv")
WIDE, CHANNELS, TALL, SIDE = 1024, 32, 16, 24


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"ld_triton.ops.{module}"), name)(*arguments, **more)


def half(*shape: int) -> torch.Tensor:
    """A tensor of 16 bits that wants its gradient."""
    return normal(*shape, dtype=torch.float16)


def linear(batch: int, length: int) -> object:
    """A layer, forward and backward."""
    return call("linear.triton_linear", "triton_linear", half(batch, length, HIDDEN), half(WIDE, HIDDEN), half(WIDE))


def persistent(batch: int, length: int) -> object:
    """A layer by programs that stay, forward and backward."""
    made = half(batch, length, HIDDEN), half(WIDE, HIDDEN), half(WIDE)
    return call("linear.persistent_linear", "persistent_linear", *made)


def product(batch: int, length: int) -> object:
    """A product of matrices, forward and backward."""
    return call("matmul.triton_matmul", "triton_matmul", half(batch * length, HIDDEN), half(HIDDEN, WIDE))


def convolution(batch: int, length: int) -> object:
    """A convolution of images of TALL rows and `length` columns, forward and backward."""
    made = half(batch, CHANNELS, TALL, length), half(2 * CHANNELS, CHANNELS, 3, 3), half(2 * CHANNELS)
    return call("convolution.triton_conv2d", "triton_conv2d", *made, (1, 1), (1, 1), (1, 1))


def flip(batch: int, length: int) -> object:
    """Sequences from their ends."""
    return call("flip.triton_flip", "triton_flip", plain(batch, HIDDEN, length, dtype=torch.float32), -1)


def largest(batch: int, length: int) -> object:
    """The largest of each token's features, forward and backward."""
    return call("max.triton_max", "triton_max", normal(batch, length, HIDDEN, dtype=torch.float32), -1, True)


def squares(batch: int, length: int) -> object:
    """The mean of squared differences, forward and backward."""
    made = normal(batch, length, HIDDEN, dtype=torch.float32), plain(batch, length, HIDDEN, dtype=torch.float32)
    return call("mse.triton_mse", "triton_mse", *made)


def norm(batch: int, length: int) -> object:
    """A norm of tokens, forward and backward."""
    return call("rms_norm.triton_rms_norm", "triton_rms_norm", normal(batch, length, HIDDEN), normal(HIDDEN))


def sigmoid(batch: int, length: int) -> object:
    """A sigmoid, forward and backward."""
    return call("sigmoid.triton_sigmoid", "triton_sigmoid", normal(batch, length, HIDDEN, dtype=torch.float32))


def softmax(batch: int, length: int) -> object:
    """A softmax of the scores of all pairs, forward and backward."""
    return call("softmax.triton_softmax", "triton_softmax", normal(batch * length, length, dtype=torch.float32))


def table(batch: int, length: int) -> object:
    """`length` points of each of `batch` scenes in a table, and where neighbours are."""
    first = torch.arange(length, device=DEVICE, dtype=torch.int32) * 7
    places = torch.stack((first // SIDE**2 % SIDE, first // SIDE % SIDE, first % SIDE), 1).repeat(batch, 1)
    scenes = torch.arange(batch, device=DEVICE, dtype=torch.int32).repeat_interleave(length)
    indices = torch.cat((scenes[:, None], places), 1).contiguous()
    sizes = *(SIDE,) * 6, *(3,) * 3, *(1,) * 9
    return call("spconv.triton_submconv3d", "get_indice_pairs", indices, *sizes)


OPERATORS = {
    "linear": linear,
    "persistent": persistent,
    "product": product,
    "convolution": convolution,
    "flip": flip,
    "largest": largest,
    "squares": squares,
    "norm": norm,
    "sigmoid": sigmoid,
    "softmax": softmax,
    "table": table,
}

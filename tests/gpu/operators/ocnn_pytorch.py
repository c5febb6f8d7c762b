"""Convolutions of octrees: batches of as many nodes as the clouds have."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, plain

REPOSITORY = "octree-nn/ocnn-pytorch"
COMMIT = "b12e89937ffee8407df450e2950d1070ad2401dc"
BARE = ("ocnn", "ocnn.nn")
INPUTS, OUTPUTS, AROUND = 64, 128, 27
SHAPES = ((1, 100), (2, 777), (3, 1000), (4, 5000), (1, 20000), (2, 33333))


def call(name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("ocnn.nn.kernels"), name)(*arguments)


def cloud(batch: int, length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Features of all nodes, a weight, a bias, and the neighbours of each node."""
    nodes = batch * length
    near = torch.randint(-1, nodes, (nodes, AROUND), device=DEVICE)
    return plain(nodes, INPUTS), plain(OUTPUTS, AROUND, INPUTS), plain(OUTPUTS), near


def forward(batch: int, length: int) -> object:
    """A convolution."""
    return call("conv_fwd_implicit_gemm", *cloud(batch, length))


def backward(batch: int, length: int) -> object:
    """Its gradients."""
    made = plain(batch * length, OUTPUTS), *cloud(batch, length)
    return call("conv_bwd_implicit_gemm", *made, [True, True, True])[2]


def split_forward(batch: int, length: int) -> object:
    """A convolution whose sums are split."""
    return call("conv_fwd_implicit_gemm_splitk", *cloud(batch, length))


def split_backward(batch: int, length: int) -> object:
    """Its gradients, split as well."""
    made = plain(batch * length, OUTPUTS), *cloud(batch, length)
    return call("conv_bwd_implicit_gemm_splitk", *made, [True, True, True])[2]


OPERATORS = {
    "forward": forward,
    "backward": backward,
    "split_forward": split_forward,
    "split_backward": split_backward,
}

"""Emerging-Optimizers' symmetric products, with which Muon turns the gradients of layers that have seen a batch."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import HIDDEN, normal, plain

REPOSITORY = "NVIDIA-NeMo/Emerging-Optimizers"
COMMIT = "fd7729267109a8848709e9406bf19e53e970c3f4"
BARE = ("emerging_optimizers", "emerging_optimizers.orthogonalized_optimizers")
UNUSED = ("absl", "absl.logging")
WIDE, LAYERS, TURNS = 1024, 4, 2
SHAPES = ((1, 16), (2, 33), (3, 100), (4, 256), (2, 777))


def gradient(batch: int, length: int, *shape: int) -> torch.Tensor:
    """The gradient of a layer's weights, or of several layers'."""
    weights = normal(*shape)
    (plain(batch * length, shape[-1]) @ weights.mT).float().square().sum().backward()
    assert weights.grad is not None
    return weights.grad


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"emerging_optimizers.{module}"), name)(*arguments, **more)


def turn(made: torch.Tensor) -> object:
    """A gradient without its singular values, by products of 16 bits."""
    torch.set_float32_matmul_precision("medium")
    return call("orthogonalized_optimizers.muon_utils", "newton_schulz", made.float(), TURNS, use_syrk=True)


def turned(batch: int, length: int) -> object:
    """The gradient of one layer."""
    return turn(gradient(batch, length, HIDDEN, WIDE))


def turned_layers(batch: int, length: int) -> object:
    """The gradients of several layers."""
    return turn(gradient(batch, length, LAYERS, HIDDEN, WIDE))


def small(batch: int, length: int) -> object:
    """The symmetric product of a small layer's gradient."""
    return call("triton_kernels", "tsyrk_ex_small_matrix", gradient(batch, length, HIDDEN, HIDDEN))


OPERATORS = {"turned": turned, "turned-layers": turned_layers, "small": small}

"""sam3's distances and components of masks, its choice of boxes, and its focal loss."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, normal, plain

PACKAGE = Package("sam3", "0.1.4")
BARE = ("sam3", "sam3.model", "sam3.perflib", "sam3.perflib.triton", "sam3.train", "sam3.train.loss")
CLASSES = 16


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"sam3.{module}"), name)(*arguments)


def masks(batch: int, length: int) -> torch.Tensor:
    """Masks of square images, `length` pixels high."""
    return torch.randint(0, 2, (batch, length, length + 1), device=DEVICE).bool()


def distances(batch: int, length: int) -> object:
    """The distance of each pixel to the background."""
    return call("model.edt", "edt_triton", masks(batch, length))


def components(batch: int, length: int) -> object:
    """The components of each mask."""
    return call("perflib.triton.connected_components", "connected_components_triton", masks(batch, length))


def choose(batch: int, length: int) -> object:
    """`length` boxes of an image."""
    boxes = plain(length, length, dtype=torch.float32).abs(), plain(length, dtype=torch.float32)
    return call("perflib.triton.nms", "nms_triton", *boxes, 0.5)


def focal(name: str) -> Any:
    """The loss of `length` boxes of each image."""

    def run(batch: int, length: int) -> object:
        inputs = normal(batch, length, CLASSES, dtype=torch.float32)
        return call("train.loss.sigmoid_focal_loss", name, inputs, torch.rand_like(inputs).detach(), 0.25, 2.0)

    return run


OPERATORS = {
    "distances": distances,
    "components": components,
    "choose": choose,
    "focal": focal("triton_sigmoid_focal_loss"),
    "focal-sum": focal("triton_sigmoid_focal_loss_reduce"),
}

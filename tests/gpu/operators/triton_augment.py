"""triton-augment's changes of images, with their height for the length."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("triton-augment", "0.3.0")
WIDE = 64


def change(name: str, *arguments: object) -> Callable[[int, int], object]:
    """One change of a batch of images."""

    def call(batch: int, length: int) -> object:
        images = torch.rand(batch, 3, length, WIDE, device=DEVICE)
        return getattr(importlib.import_module("triton_augment.functional"), name)(images, *arguments)

    return call


def crop(batch: int, length: int) -> object:
    """The upper half."""
    return change("crop", 0, 0, max(1, length // 2), WIDE // 2)(batch, length)


OPERATORS = {
    "brightness": change("adjust_brightness", 1.1),
    "contrast": change("adjust_contrast", 1.1),
    "contrast-fast": change("adjust_contrast_fast", 1.1),
    "saturation": change("adjust_saturation", 1.1),
    "normalize": change("normalize", (0.5, 0.5, 0.5), (0.2, 0.2, 0.2)),
    "gray": change("rgb_to_grayscale"),
    "flip": change("horizontal_flip"),
    "rotate": change("rotate", 30.0),
    "crop": crop,
}

"""triton_tagi's layers that carry means and variances: dense, of images and of attention, each with one step."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEADS, plain

REPOSITORY = "miquelflorensa/triton-tagi"
COMMIT = "d573789c71f89a45acfe89dc7368da1017b80d0c"
HIDDEN, CLASSES, CHANNELS, SIDE, NOISE = 64, 10, 8, 8, 0.1


def layer(name: str, *arguments: object, **more: object) -> Any:
    """One layer of the library."""
    made = getattr(importlib.import_module("triton_tagi"), name)
    return made(*arguments, **more)


def learn(layers: list[Any], given: torch.Tensor, *wanted: int) -> object:
    """One step of a network, there and back, with new weights."""
    network = layer("Sequential", layers, device=DEVICE)
    return network.step(given, plain(*wanted, dtype=torch.float32), NOISE)


def dense(batch: int, length: int) -> object:
    """`batch` * `length` samples through dense layers."""
    many = batch * length
    layers = [layer("Linear", HIDDEN, HIDDEN, device=DEVICE), layer("ReLU")]
    layers += [layer("Linear", HIDDEN, CLASSES, device=DEVICE), layer("Remax")]
    return learn(layers, plain(many, HIDDEN, dtype=torch.float32), many, CLASSES)


def images(batch: int, length: int) -> object:
    """`batch` * `length` images through layers of two kinds."""
    many, half = batch * length, SIDE // 2
    layers = [layer("Conv2D", 3, CHANNELS, 3, padding=1, device=DEVICE), layer("BatchNorm2D", CHANNELS, device=DEVICE)]
    layers += [layer("ReLU"), layer("AvgPool2D", 2), layer("Flatten")]
    layers.append(layer("Linear", CHANNELS * half * half, CLASSES, device=DEVICE))
    return learn(layers, plain(many, 3, SIDE, SIDE, dtype=torch.float32), many, CLASSES)


def residual(batch: int, length: int) -> object:
    """`batch` * `length` images through layers and past them."""
    many = batch * length
    layers = [layer("ResBlock", CHANNELS, 2 * CHANNELS, stride=2, device=DEVICE)]
    wanted = many, 2 * CHANNELS, SIDE // 2, SIDE // 2
    return learn(layers, plain(many, CHANNELS, SIDE, SIDE, dtype=torch.float32), *wanted)


def attention(batch: int, length: int) -> object:
    """Attention and a norm."""
    sizes = {"embed_dim": HIDDEN, "num_heads": HEADS, "seq_len": length}
    layers = [layer("MultiheadAttentionV2", **sizes, device=DEVICE)]
    layers.append(layer("RMSNorm", [HIDDEN], device=DEVICE))
    return learn(layers, plain(batch, length, HIDDEN, dtype=torch.float32), batch, length, HIDDEN)


OPERATORS = {"dense": dense, "images": images, "residual": residual, "attention": attention}

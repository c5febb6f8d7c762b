"""Inf-CLIP's loss of pairs of images and texts."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import HIDDEN, normal

REPOSITORY = "DAMO-NLP-SG/Inf-CLIP"
COMMIT = "d9f2833b3753ab1342db46666523c6621012fbf6"


def pairs(batch: int, length: int) -> list[torch.Tensor]:
    """As many images and texts, of length 1."""
    return [torch.nn.functional.normalize(normal(batch * length, HIDDEN, dtype=torch.float32)) for _ in range(2)]


def flash(batch: int, length: int) -> object:
    """The loss of images, forward and backward."""
    return importlib.import_module("inf_cl").cal_flash_loss(*pairs(batch, length), scale=normal(1).exp())


def both(batch: int, length: int) -> object:
    """The loss of images and that of texts, forward and backward."""
    images, texts = pairs(batch, length)
    flash_loss = importlib.import_module("inf_cl.flash").cal_flash_loss
    return flash_loss(images, texts, scale=10.0) + flash_loss(texts, images, scale=10.0)


OPERATORS = {"flash": flash, "both": both}
